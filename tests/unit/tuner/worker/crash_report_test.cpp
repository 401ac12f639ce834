#include <gtest/gtest.h>

#include <string>

#include "worker/worker_failure.h"

namespace mgtune {
namespace {

TEST(CrashReport, SilenceIsTheEndAlone) {
  EXPECT_EQ(crash_message("exited with 1", ""), "exited with 1");
  EXPECT_EQ(crash_message("exited with 1", "\n  \n"), "exited with 1");
}

TEST(CrashReport, KeepsTheLastLines) {
  std::string text;
  for (int i = 1; i <= 20; ++i) text += "line " + std::to_string(i) + "\n";
  const std::string message = crash_message("killed by signal 6 (Aborted)", text);
  EXPECT_EQ(message.find("killed by signal 6 (Aborted): line 13\nline 14\n"), 0U);
  EXPECT_EQ(message.substr(message.size() - 8), "\nline 20");
}

TEST(CrashReport, CutsLongLines) {
  EXPECT_LT(crash_message("exited with 1", std::string(100'000, 'x')).size(), 500U);
}

TEST(CrashReport, KeepsWhatUndefinedBehaviourWasAndWhere) {
  const std::string report =
      "warm-up\n"
      "kernel.cu:9:15: runtime error: load of misaligned address 0x61 for type 'float4'\n"
      "0x61: note: pointer points here\n"
      " 00 00 00 00\n"
      "    #0 0x1 in copy<4> kernel.cu:9\n"
      "SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior kernel.cu:9:15 in\n";
  EXPECT_EQ(crash_message("exited with 1", report),
            "exited with 1: kernel.cu:9:15: runtime error: load of misaligned address 0x61 for "
            "type 'float4'\n"
            "#0 0x1 in copy<4> kernel.cu:9\n"
            "SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior kernel.cu:9:15 in");
}

TEST(CrashReport, KeepsWhatTheDeviceSaidBesideAReport) {
  const std::string report =
      "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"
      "WRITE of size 4 at 0x1 thread T0\n"
      "    #0 0x1 in f k.cu:3\n    #1 0x1 in g\n    #2 0x1 in h\n    #3 0x1 in i\n"
      "block (1,0,0) thread 31\n"
      "SUMMARY: AddressSanitizer: heap-buffer-overflow k.cu:3 in f\n"
      "==1==ABORTING\n";
  EXPECT_EQ(crash_message("exited with 1", report),
            "exited with 1: ==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"
            "WRITE of size 4 at 0x1 thread T0\n"
            "#0 0x1 in f k.cu:3\n#1 0x1 in g\n#2 0x1 in h\n"
            "block (1,0,0) thread 31\n"
            "SUMMARY: AddressSanitizer: heap-buffer-overflow k.cu:3 in f");
}

}  // namespace
}  // namespace mgtune
