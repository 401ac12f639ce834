#include "compiler/ptxas_report.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(PtxasReport, ReadsEachKernel) {
  const auto entries = parse_ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1aPf\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 49152 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compile time = 268.457 ms\n"
      "ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1bPf\n"
      "ptxas         .     704 bytes stack frame, 376 bytes spill stores, 380 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 704 bytes cumulative stack size\n");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].symbol, "_Z1aPf");
  EXPECT_EQ(entries[0].registers, 168);
  EXPECT_EQ(entries[0].spill_bytes, 0);
  EXPECT_EQ(entries[0].static_shared_bytes, 49152);
  EXPECT_EQ(entries[1].symbol, "_Z1bPf");
  EXPECT_EQ(entries[1].registers, 32);
  EXPECT_EQ(entries[1].spill_bytes, 376);
  EXPECT_EQ(entries[1].static_shared_bytes, 0);
}

TEST(PtxasReport, SpillsOfCalledFunctionsCountForEveryKernel) {
  const auto entries = parse_ptxas_report(
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "ptxas         .     704 bytes stack frame, 376 bytes spill stores, 376 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 40 bytes smem\n"
      "ptxas info    : Function properties for _Z1fPfi\n"
      "ptxas         .     0 bytes stack frame, 344 bytes spill stores, 344 bytes spill loads\n");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].spill_bytes, 376 + 344);
  EXPECT_EQ(entries[0].registers, 32);
  EXPECT_EQ(entries[0].static_shared_bytes, 40);
}

TEST(PtxasReport, PassesOverWhatItDoesNotKnow) {
  EXPECT_TRUE(parse_ptxas_report("").empty());
  EXPECT_TRUE(parse_ptxas_report("scaled.cu(3): warning: x\n 12 registers\n").empty());
  const auto entries = parse_ptxas_report("ptxas info : Compiling entry function 'k' for 'sm_80'");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].registers, -1);
  EXPECT_EQ(entries[0].spill_bytes, -1);
  EXPECT_EQ(entries[0].static_shared_bytes, -1);
}

// As NVRTC 13.0 says it.
constexpr char kSerialized[] =
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to wgmma pipeline crossing function boundary at a function call in the "
    "function 'touched'";
constexpr char kTooFewRegisters[] =
    "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources for the wgmma pipeline in the function 'k'";
constexpr char kWait[] =
    "ptxas info    : (C7517) warpgroup.wait is injected in around line 118 by compiler to allow "
    "use of registers defined by GMMA in function 'k'";
constexpr char kIgnored[] =
    "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine "
    "register count at entry.";

TEST(PtxasObjections, AreTheLinesThatSaySo) {
  for (const char* line : {kSerialized, kTooFewRegisters, kWait, kIgnored}) {
    EXPECT_EQ(ptxas_objections(std::string("ptxas info    : 0 bytes gmem\n") + line +
                               "\nptxas info    : Used 90 registers, used 0 barriers\n"),
              line);
  }
}

TEST(PtxasObjections, OfManyTheFirstThree) {
  std::string log;
  for (int i = 0; i < 40; ++i) log += std::string(kWait) + "\n";
  EXPECT_EQ(ptxas_objections(log), std::string(kWait) + "\n" + kWait + "\n" + kWait);
}

TEST(PtxasObjections, WhatCostsNothingIsNone) {
  EXPECT_EQ(ptxas_objections(""), "");
  EXPECT_EQ(ptxas_objections("ptxas info    : Used 90 registers, used 0 barriers\n"
                             "ptxas info    : (C7519) warpgroup.arrive is injected in around line "
                             "247 by compiler to allow use of registers in GMMA in function 'k'\n"
                             "ptxas warning : Registers are spilled to local memory\n"),
            "");
  EXPECT_EQ(ptxas_objections("a.cu(3): warning: \"'setmaxnreg' ignored\" is never used\n"), "");
}

}  // namespace
}  // namespace mgtune
