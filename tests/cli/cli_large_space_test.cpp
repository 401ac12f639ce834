// Commands on spaces that are too large to be listed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/operators/large_family.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Several times what it takes on a busy machine.
constexpr std::chrono::seconds kMostTime{60};

// The largest of all processes that ended so far, compilers among them.
std::int64_t peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_maxrss / 1024;
}

class CliLargeSpaceTest : public ::testing::Test {
 protected:
  std::string family(int parameters, const std::vector<std::string>& constraints) const {
    const std::string folder = mgtune_.folder().file("large");
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/copy.json") << large_family_json(parameters, constraints);
    std::ofstream(folder + "/copy.cu") << kLargeSource;
    std::ofstream(folder + "/reference.cu") << kLargeReference;
    return folder;
  }

  static void expect_small() {
    const bool is_sanitized = !std::string_view(MGTUNE_SANITIZE).empty();
    if (!is_sanitized) {
      EXPECT_LT(peak_megabytes(), 500);
    }
  }

  Ended run_in_time(const MgtuneProgram::Words& words) {
    const Clock::time_point start = Clock::now();
    const Ended ended = mgtune_.run(words);
    EXPECT_LT(Clock::now() - start, kMostTime);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    expect_small();
    return ended;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliLargeSpaceTest, TenMillionPointsArePlannedAndListed) {
  const std::string kernel = family(7, kPrunedEarly);
  const nlohmann::json plan =
      run_in_time({"sweep", "--kernel", kernel, "--gpu", "cpu", "--dry-run", "--json"})
          .json()["dry_run"][0]["problems"][0];
  EXPECT_EQ(plan["admissible"], 100000);
  EXPECT_EQ(plan["counted"], true);
  const nlohmann::json listed =
      run_in_time({"list", "--kernel", kernel, "--gpu", "cpu", "--json"}).json()["designs"][0];
  EXPECT_EQ(listed["points"], 10000000);
  EXPECT_EQ(listed["admissible"], 100000);
}

// A hundred problems whose spaces have more points than a hundredth of the counting.
TEST_F(CliLargeSpaceTest, OnlyTheProblemsOfAShardShareTheCounting) {
  MgtuneProgram::Words words = {"sweep",     "--kernel", family(7, kPrunedEarly), "--gpu", "cpu",
                                "--dry-run", "--json"};
  for (int n = 1; n <= 100; ++n) {
    words.insert(words.end(), {"--problem", "n=" + std::to_string(n)});
  }
  const nlohmann::json all = run_in_time(words).json()["dry_run"][0]["problems"];
  ASSERT_EQ(all.size(), 100U);
  EXPECT_EQ(all[0]["counted"], false);
  words.insert(words.end(), {"--shard", "2/100"});
  const nlohmann::json shard = run_in_time(words).json()["dry_run"][0]["problems"];
  ASSERT_EQ(shard.size(), 1U);
  EXPECT_EQ(shard[0]["problem"], "n=2 T=f32");
  EXPECT_EQ(shard[0]["counted"], true);
  EXPECT_EQ(shard[0]["admissible"], 100000);
}

TEST_F(CliLargeSpaceTest, OfTenBillionPointsItSaysAtLeastHowMany) {
  const std::string kernel = family(10, pruned_late(10));
  const Ended plan = run_in_time({"sweep", "--kernel", kernel, "--gpu", "cpu", "--dry-run"});
  EXPECT_THAT(plan.err, HasSubstr("1 problem, at least "));
  EXPECT_THAT(plan.err, HasSubstr("adaptive order"));
  EXPECT_THAT(plan.out, HasSubstr(">= "));
  const nlohmann::json listed =
      run_in_time({"list", "--kernel", kernel, "--gpu", "cpu", "--json"}).json()["designs"][0];
  EXPECT_EQ(listed["counted"], false);
  EXPECT_GT(listed["admissible"], 1000);
}

TEST_F(CliLargeSpaceTest, ASweepBeginsAtOnceAndKeepsToItsBudget) {
  for (const int parameters : {7, 10}) {
    const std::string kernel = family(parameters, pruned_late(parameters));
    const nlohmann::json sweep =
        mgtune_.run({"sweep", "--kernel", kernel, "--gpu", "cpu", "--budget", "3", "--json"})
            .json()["sweeps"][0];
    EXPECT_EQ(sweep["evaluated"], 3) << sweep;
    EXPECT_EQ(sweep["failed"], 0) << sweep;
    EXPECT_EQ(sweep["picks"].size(), 1U);
    expect_small();
    std::filesystem::remove(mgtune_.database());
  }
}

}  // namespace
}  // namespace mgtune
