// The README's table of results is that of the committed export, number by number.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "family/problem.h"
#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

std::string repository_file(const std::string& path) {
  return FileSystem::real().read_file(source_path(path)).value();
}

TEST(PublishedResults, TheReadmeSaysWhatTheExportSays) {
  const std::string readme = repository_file("README.md");
  const auto json =
      nlohmann::json::parse(repository_file("results/h200/rmsnorm.forward.bf16.picks.json"));
  ASSERT_GE(json["picks"].size(), 3U);
  for (const auto& pick : json["picks"]) {
    ASSERT_EQ(pick["gpu"], "NVIDIA H200");
    ASSERT_EQ(pick["method"], "rotating");
    const auto words = parse_assignments(pick["problem"].get<std::string>()).value();
    const std::string row =
        fmt::format("| {} x {} | {:.2f} us | {:.0f} | {:.1f} % |", words.at("rows"),
                    words.at("hidden"), pick["median_ns"].get<double>() / 1000,
                    pick["bandwidth_gbps"].get<double>(), 100 * pick["of_copy"].get<double>());
    EXPECT_NE(readme.find(row), std::string::npos) << row;
    EXPECT_DOUBLE_EQ(pick["speedup"].get<double>(),
                     pick["default_median_ns"].get<double>() / pick["median_ns"].get<double>())
        << row;
  }
}

}  // namespace
}  // namespace mgtune
