// The tables in the README and in results/h200 say what the committed results say, number by
// number.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "family/problem.h"
#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

std::string repository_file(const std::string& path) {
  return FileSystem::real().read_file(source_path(path)).value();
}

TEST(PublishedResults, ThePicksAreThoseOfTheExport) {
  const std::string page = repository_file("results/h200/README.md");
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
    EXPECT_NE(page.find(row), std::string::npos) << row;
    EXPECT_DOUBLE_EQ(pick["speedup"].get<double>(),
                     pick["default_median_ns"].get<double>() / pick["median_ns"].get<double>())
        << row;
  }
}

// A row of a Markdown table: its cells, without the spaces around them.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> result;
  for (std::size_t start = line.find('|'); start != std::string_view::npos;) {
    const std::size_t end = line.find('|', start + 1);
    if (end == std::string_view::npos) break;
    std::string_view cell = line.substr(start + 1, end - start - 1);
    cell.remove_prefix(std::min(cell.find_first_not_of(' '), cell.size()));
    result.emplace_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
    start = end;
  }
  return result;
}

// The README's table of peers: operator and shape, our time, the peer's, the ratio of the two. Its
// times stand in norms.md in the columns 2 and 6.
TEST(PublishedResults, ThePeersOfTheReadmeAreThoseOfTheNorms) {
  std::map<std::string, std::pair<std::string, std::string>> measured;
  std::istringstream norms(repository_file("results/h200/norms.md"));
  for (std::string line; std::getline(norms, line);) {
    const std::vector<std::string> row = cells(line);
    if (row.size() == 7) measured[row[0] + ' ' + row[1]] = {row[2], row[6]};
  }
  std::istringstream readme(repository_file("README.md"));
  std::string line;
  while (std::getline(readme, line) && line != "<!-- results/h200/norms.md -->") continue;
  std::getline(readme, line);  // the heading and the line below it
  std::getline(readme, line);
  int rows = 0;
  for (; std::getline(readme, line) && line != "<!-- end -->"; ++rows) {
    const std::vector<std::string> row = cells(line);
    ASSERT_EQ(row.size(), 4U) << line;
    ASSERT_TRUE(measured.contains(row[0])) << line;
    const auto& [ours, peer] = measured[row[0]];
    EXPECT_EQ(row[1], ours) << line;
    EXPECT_EQ(row[2], peer) << line;
    EXPECT_EQ(row[3], fmt::format("{:.2f}x", std::stod(peer) / std::stod(ours))) << line;
  }
  EXPECT_GE(rows, 5);
}

}  // namespace
}  // namespace mgtune
