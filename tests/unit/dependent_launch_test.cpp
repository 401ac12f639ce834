// Kernels that may start before the grid before them has ended read nothing through the read-only
// path: its lines in an SM's L1 may be older than what that grid writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "core/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

// Where NVRTC may choose ld.global.nc, or is told to.
std::vector<std::string> read_only_reads(const std::string& source) {
  static const std::regex kReadOnly(
      R"(const [\w:]+\s*\*\s*__restrict__ *\w*|__ldg\(|ld\.global\.nc)");
  std::vector<std::string> found;
  for (std::sregex_iterator it(source.begin(), source.end(), kReadOnly), end; it != end; ++it) {
    found.push_back(it->str());
  }
  return found;
}

TEST(DependentLaunch, SourcesMarkNoPointerToConstRestrict) {
  int dependent = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path("kernels"))) {
    if (entry.path().extension() != ".cu") continue;
    const std::string source = FileSystem::real().read_file(entry.path()).value();
    if (source.find("#include <mg/grid_dependency.cuh>") == std::string::npos) continue;
    ++dependent;
    EXPECT_THAT(read_only_reads(source), testing::IsEmpty()) << entry.path();
  }
  EXPECT_GE(dependent, 6);
}

TEST(DependentLaunch, WhatTheyIncludeReadsNothingThatWay) {
  for (const auto& entry : std::filesystem::directory_iterator(source_path("kernels/common/mg"))) {
    const std::string source = FileSystem::real().read_file(entry.path()).value();
    EXPECT_THAT(read_only_reads(source), testing::IsEmpty()) << entry.path();
  }
}

TEST(DependentLaunch, AReadOnlyReadIsFound) {
  EXPECT_THAT(read_only_reads(
                  "f(const T* __restrict__ x, const mg::i32 *__restrict__ n, T* __restrict__ y)"),
              testing::SizeIs(2));
  EXPECT_THAT(read_only_reads("__ldg(x) + asm(\"ld.global.nc.f32\")"), testing::SizeIs(2));
}

}  // namespace
}  // namespace mgtune
