// The tables in the README and in results/h200 say what the committed results say, number by
// number.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
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
#include "text/units.h"

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

std::size_t leaves_of(const nlohmann::json& node) {
  return node.contains("rank") ? 1 : leaves_of(node["then"]) + leaves_of(node["else"]);
}

TEST(PublishedResults, TheLossesOfRulesAreThoseOfTheFiles) {
  const std::string page = repository_file("results/h200/rules.md");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("results/h200"))) {
    if (!entry.path().string().ends_with(".rules.json")) continue;
    const auto rules = nlohmann::json::parse(FileSystem::real().read_file(entry.path()).value());
    const nlohmann::json& evidence = rules["evidence"];
    std::string row = fmt::format(
        "| {} | {} | {} | {} | {} | {} |", rules["operator"].get<std::string>(),
        rules["variants"].size(), leaves_of(rules["rules"]), evidence["problems"].size(),
        evidence["held_out"]["problems"].size(), evidence["held_out"]["estimated"].get<int>());
    for (const char* whose : {"rules", "ladder"}) {
      for (const char* figure : {"median", "percentile_95", "worst"}) {
        row += fmt::format(" {:.1f} % |", 100 * evidence["held_out"][whose][figure].get<double>());
      }
    }
    EXPECT_NE(page.find(row), std::string::npos) << row;
    ++files;
  }
  EXPECT_GE(files, 1U);
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

// Picks and peers by operator and problem, whose words are in alphabetical order.
using Problems = std::map<std::pair<std::string, ProblemValues>, nlohmann::json>;

Problems published_picks() {
  Problems picks;
  const std::string folder = source_path("results/h200");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().string().ends_with(".tuned.json")) continue;
    const nlohmann::json document =
        nlohmann::json::parse(FileSystem::real().read_file(entry.path()).value());
    for (const nlohmann::json& table : document["tables"]) {
      for (const nlohmann::json& pick : table["picks"]) {
        const auto words = parse_assignments(pick["problem"].get<std::string>()).value();
        picks[{table["operator"], words}] = pick;
      }
    }
  }
  return picks;
}

// Of each problem the fastest.
Problems published_peers() {
  Problems fastest;
  const nlohmann::json document =
      nlohmann::json::parse(repository_file("results/h200/nvidia-h200.peers.json"));
  for (const nlohmann::json& peer : document["peers"]) {
    ProblemValues words;
    for (const auto& [name, value] : peer["problem"].items()) {
      words[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    nlohmann::json& known = fastest[{peer["operator"], words}];
    if (known.is_null() || peer["median_ns"] < known["median_ns"]) known = peer;
  }
  return fastest;
}

// "rmsnorm.backward 4096 x 4096" or "attention.decode batch=8 kv_len=8192": the operator and some
// words of its problem in bf16.
std::pair<std::string, ProblemValues> problem_of(const std::string& cell) {
  std::istringstream words(cell);
  std::string op;
  ProblemValues values = {{"T", "bf16"}};
  words >> op;
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign != std::string::npos) {
      values[word.substr(0, sign)] = word.substr(sign + 1);
    } else if (word != "x") {
      values[values.contains("rows") ? "hidden" : "rows"] = word;
    }
  }
  return {op, values};
}

// The README's table: the problem, our time in the tuned table, the fastest of the peers' file with
// its name, and the ratio of the two. `mgtune show best` prints the same.
TEST(PublishedResults, TheTableOfTheReadmeIsThatOfTheFiles) {
  const Problems picks = published_picks(), peers = published_peers();
  std::istringstream readme(repository_file("README.md"));
  std::string line;
  while (std::getline(readme, line) && !line.starts_with("<!-- mgtune show best")) continue;
  std::getline(readme, line);  // the heading and the line below it
  std::getline(readme, line);
  int rows = 0;
  for (; std::getline(readme, line) && line != "<!-- end -->"; ++rows) {
    const std::vector<std::string> row = cells(line);
    ASSERT_EQ(row.size(), 4U) << line;
    const auto [op, words] = problem_of(row[0]);
    const auto is_meant = [&](const auto& entry) {
      return entry.first.first == op && !entry.first.second.contains("paged") &&
             std::ranges::includes(entry.first.second, words);
    };
    ASSERT_EQ(std::ranges::count_if(picks, is_meant), 1) << line;
    const auto& [problem, pick] = *std::ranges::find_if(picks, is_meant);
    ASSERT_TRUE(peers.contains(problem)) << line;
    const nlohmann::json& peer = peers.at(problem);
    const double ours = pick["median_ns"], theirs = peer["median_ns"];
    EXPECT_EQ(row[1], time_text(ours)) << line;
    EXPECT_EQ(row[2], peer["name"].get<std::string>() + ' ' + time_text(theirs)) << line;
    EXPECT_EQ(row[3], ratio_text(theirs / ours)) << line;
  }
  EXPECT_GE(rows, 5);
}

}  // namespace
}  // namespace mgtune
