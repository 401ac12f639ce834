// mgtune profile without a GPU: its words, what it refuses, and what a chip can count.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "counters/counter_library.h"
#include "tests/helpers/mgtune_program.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliProfileTest : public ::testing::Test {
 protected:
  void expect_refused(const MgtuneProgram::Words& words, int exit_code,
                      const ::testing::Matcher<std::string>& message) {
    mgtune::expect_refused(mgtune_.run(words), exit_code, message);
  }

  // Says so where this machine has no CUPTI, and under a sanitizer, which ends the process when
  // libcupti opens a library with RTLD_DEEPBIND.
  static bool has_cupti() {
    if (std::string(MGTUNE_SANITIZE) != "") {
      std::cout << "NO METRIC WAS LISTED: not under a sanitizer" << std::endl;
      return false;
    }
    const Status status = open_counter_library().status();
    if (status.ok()) return true;
    std::cout << "NO METRIC WAS LISTED: " << status.message() << std::endl;
    return false;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliProfileTest, WrongWordsAreRefused) {
  expect_refused({"profile"}, 2, HasSubstr("--kernel is required"));
  expect_refused({"profile", "--kernel", "rmsnorm.foward"}, 2, HasSubstr("did you mean"));
  expect_refused({"profile", "--kernel", "rmsnorm.forward", "--tier", "3"}, 2,
                 HasSubstr("--tier: expected 1 or 2, got 3"));
  expect_refused({"profile", "--kernel", "rmsnorm.forward", "--best", "--variant", "row VEC=1"}, 2,
                 HasSubstr("give either --variant or --best"));
  expect_refused({"profile", "--kernel", "rmsnorm.forward", "--chip", "GH100"}, 2,
                 HasSubstr("--chip goes with --list-metrics"));
  expect_refused({"profile", "--list-metrics"}, 2, HasSubstr("--list-metrics needs --chip"));
}

TEST_F(CliProfileTest, TheCpuDeviceHasNoCounters) {
  const auto message = HasSubstr("the cpu device has no hardware counters: profile needs a GPU");
  expect_refused({"profile", "--kernel", "rmsnorm.forward", "--problem", "rows=4,hidden=64,T=f32",
                  "--gpu", "cpu"},
                 4, message);
}

TEST_F(CliProfileTest, ListsWhatAChipCounts) {
  if (!has_cupti()) return;
  const Ended table = mgtune_.run({"profile", "--list-metrics", "--chip", "TU102"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("dram_read_bytes"), HasSubstr("dram__bytes_read.sum"),
                               HasSubstr("not on this chip"), HasSubstr("essentials (tier 1): 2"),
                               HasSubstr("metric of TU102")));
  const Ended ended = mgtune_.run({"profile", "--list-metrics", "--chip", "GH100", "--json"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = ended.json();
  EXPECT_EQ(json["chip"], "GH100");
  EXPECT_EQ(json["sets"][0]["passes"], 2);
  EXPECT_EQ(json["counters"][0]["name"], "elapsed_ns");
  EXPECT_EQ(json["counters"][0]["metric"], "gpu__time_duration.sum");
  EXPECT_GT(json["metrics"].size(), 1000U);
}

TEST_F(CliProfileTest, AnUnknownChipIsRefusedWithThoseThereAre) {
  if (!has_cupti()) return;
  expect_refused({"profile", "--list-metrics", "--chip", "GH10"}, 2,
                 AllOf(HasSubstr("did you mean 'GH100'?"), HasSubstr("AD102")));
}

}  // namespace
}  // namespace mgtune
