#include "text/compile_log.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(CompileLogTest, SymbolsAreNamesAndTheCompileTimeIsLeftOut) {
  EXPECT_EQ(readable_log("ptxas info    : 63 bytes gmem\n"
                         "ptxas info    : Compiling entry function "
                         "'_Z15rmsnorm_forwardI13__nv_bfloat16S0_Li4096ELb1EEvPKT_xxffj' for "
                         "'sm_90'\n"
                         "ptxas info    : Function properties for _ZN3own5scaleIfEEvPf\n"
                         "ptxas         .     0 bytes stack frame, 0 bytes spill stores\n"
                         "ptxas info    : Used 40 registers, used 1 barriers, 32 bytes smem\n"
                         "ptxas info    : Compile time = 21.138 ms\n \n"),
            "ptxas info    : 63 bytes gmem\n"
            "ptxas info    : Compiling entry function 'rmsnorm_forward' for 'sm_90'\n"
            "ptxas info    : Function properties for scale\n"
            "ptxas         .     0 bytes stack frame, 0 bytes spill stores\n"
            "ptxas info    : Used 40 registers, used 1 barriers, 32 bytes smem");
}

TEST(CompileLogTest, WhatIsNoSymbolStaysAsItIs) {
  EXPECT_EQ(readable_log(""), "");
  EXPECT_EQ(readable_log("\n \n"), "");
  for (const char* const line :
       {"a.cu(3): warning: variable \"x\" is not used", "_Z", "_Z99short", "_Z0x", "_ZTV", "_ZN"}) {
    EXPECT_EQ(readable_log(line), line);
  }
}

}  // namespace
}  // namespace mgtune
