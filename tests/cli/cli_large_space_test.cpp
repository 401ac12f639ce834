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

using ::testing::AllOf;
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

TEST_F(CliLargeSpaceTest, ATimeBudgetHoldsWhileASearchFindsNothing) {
  const std::string kernel = family(13, pruned_wholly(13));
  const Ended ended = mgtune_.run({"sweep", "--kernel", kernel, "--gpu", "cpu", "--budget", "1s"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("skipped large.copy n=100 T=f32: the search found no variant "
                              "before it was stopped; the space has 10000000000000 points"),
                    HasSubstr("the time budget of 1 s ended")));
}

TEST_F(CliLargeSpaceTest, WithoutATimeBudgetASearchThatFindsNothingNamesItsLimit) {
  const Ended ended = mgtune_.run({"sweep", "--kernel", family(13, pruned_wholly(13)), "--gpu",
                                   "cpu", "--budget", "5", "--strategy", "exhaustive"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(
      ended.err,
      HasSubstr("the search found no variant in 67108864 steps through points and "
                "beginnings of points, which is the limit; the space has 10000000000000 points"));
}

TEST_F(CliLargeSpaceTest, CtrlCStopsASearchThatFindsNothing) {
  mgtune_.start(
      {"sweep", "--kernel", family(13, pruned_wholly(13)), "--gpu", "cpu", "--budget", "5"});
  const auto is_searching = [this] {
    return file_content(mgtune_.folder().file("err")).find("cpu emulation") != std::string::npos;
  };
  ASSERT_TRUE(mgtune_.wait_until(is_searching));
  const Ended ended = mgtune_.finish(SIGINT);
  EXPECT_EQ(ended.exit_code, 130) << ended;
  EXPECT_FALSE(ended.by_signal);
}

// Ten variables of ten dtypes: 10^10 problems from a file of two kilobytes.
TEST_F(CliLargeSpaceTest, MoreCombinationsOfDTypesThanCanBeListed) {
  const std::string kernel = family(1, {});
  std::string more;
  for (int i = 0; i < 10; ++i) {
    more += R"(, "U)" + std::to_string(i) +
            R"(": ["f64", "f32", "f16", "bf16", "i64", "u64", "i32", "u32", "i8", "u8"])";
  }
  replace_in_file(kernel + "/copy.json", R"("T": ["f32"])", R"("T": ["f32"])" + more);
  const Ended listed = run_in_time({"list", "--kernel", kernel, "--gpu", "cpu"});
  EXPECT_THAT(listed.out, HasSubstr("n=100 T=f32 U0=f64"));
  const Ended sweep = mgtune_.run({"sweep", "--kernel", kernel, "--gpu", "cpu", "--dry-run"});
  EXPECT_EQ(sweep.exit_code, 2) << sweep;
  EXPECT_THAT(sweep.err, HasSubstr("more than 100000 combinations of dtypes, which is the limit"));
}

}  // namespace
}  // namespace mgtune
