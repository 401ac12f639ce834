#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/host_toolchain.h"

namespace mgtune {
namespace {

TEST(CompilerFailure, WhatIsSaidOfTheSourceIsTheSources) {
  const std::vector<std::string> outputs{
      "forward.cu:3:5: error: 'x' was not declared in this scope\n",
      "forward.cu:3:5: error: static assertion failed: No space left on device\n    3 |  "
      "static_assert"
      "(false, \"No space left on device\");\n",
      "forward.cu:1:10: fatal error: missing.h: No such file or directory\n",
      "forward.cu:9:1: internal compiler error: Segmentation fault\n",
      "/usr/bin/ld: unit.o: undefined reference to `f'\n"};
  for (const std::string& output : outputs) {
    EXPECT_TRUE(machine_failure({1, output}).ok()) << output;
  }
}

TEST(CompilerFailure, WhereThereIsNoRoomItIsTheDisks) {
  const std::vector<std::string> outputs{
      "forward.cu:40:1: fatal error: error writing to /tmp/ccX.s: No space left on device\n",
      "/usr/bin/ld: final link failed: No space left on device\n",
      "Cannot create temporary file in /tmp/: Permission denied\n",
      "clang: error: unable to open output file 'unit.o': 'Read-only file system'\n"};
  for (const std::string& output : outputs) {
    const Status status = machine_failure({1, output});
    EXPECT_EQ(status.code(), StatusCode::io) << output;
    EXPECT_NE(status.message().find(output.substr(0, output.size() - 1)), std::string::npos);
  }
}

TEST(CompilerFailure, ACompilerThatWasEndedOrIsNotWholeIsTheEnvironments) {
  const std::vector<std::string> outputs{
      "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
      "collect2: fatal error: ld terminated with signal 9 [Killed]\n",
      "g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n",
      "clang: error: unable to execute command: Killed\n",
      "cc1plus: out of memory allocating 65536 bytes after a total of 1351680 bytes\n"};
  for (const std::string& output : outputs) {
    EXPECT_EQ(machine_failure({1, output}).code(), StatusCode::environment) << output;
  }
  EXPECT_EQ(machine_failure({137, "forward.cu:1:1: warning: w\n"}).message(),
            "the compiler was ended by signal 9 (Killed)");
  EXPECT_EQ(machine_failure({3, ""}).message(),
            "the compiler ended with code 3 and gave no reason");
}

}  // namespace
}  // namespace mgtune
