// kill -9 at any moment of a sweep: the database stays whole, no process stays behind, and the same
// command ends with what an uninterrupted sweep finds, nothing measured twice.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "database/database.h"
#include "store/store.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;
using Row = std::pair<std::string, Outcome>;  // variant, status

const int kKills = in_long_lane(200, 20);
constexpr std::chrono::milliseconds kTimeToBeGone{2000};

class CliKillTest : public ::testing::Test {
 protected:
  // Nine variants: a third of them does not compile, a third is wrong.
  CliKillTest() : family_(folder_.file("vector_add")) {
    std::filesystem::copy(source_path("tests/families/vector_add"), family_);
  }

  void begin() {
    cache_ = std::make_unique<TestFolder>();
    mgtune_ = std::make_unique<MgtuneProgram>(cache_->path());
  }

  MgtuneProgram::Words words() const {
    return {"sweep", "--gpu", "cpu", "--kernel", family_, "--strategy", "exhaustive"};
  }

  bool has_database() const {
    std::error_code none;
    return std::filesystem::file_size(mgtune_->database(), none) > 0 && !none;
  }

  // Racing compares times, and those of emulation are noise: both words say that it passed.
  // A database without content has no rows. That is what expect_whole() leaves of one whose maker
  // was killed in its first commit, because it rolls that commit back.
  std::set<Row> rows() const {
    if (!has_database()) return {};
    Store store = Store::open(mgtune_->database(), Store::Mode::read_only).value();
    const std::vector<OutcomeView> views = store.outcomes().value();
    std::set<Row> rows;
    for (const OutcomeView& view : views) {
      const bool passed = view.outcome == Outcome::raced_out;
      rows.emplace(view.variant, passed ? Outcome::ok : view.outcome);
    }
    return rows;
  }

  void expect_whole() const {
    const auto database = Database::open(mgtune_->database(), Database::Access::read_write).value();
    EXPECT_EQ(*database->read_text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(*database->read_integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }

  void expect_nothing_twice() const {
    const auto database = Database::open(mgtune_->database(), Database::Access::read_only).value();
    EXPECT_EQ(*database->read_integer("SELECT max(n) FROM (SELECT count(*) AS n FROM measurements"
                                      " GROUP BY gpu, problem, build_sha256, launch_hash, method)"),
              1);
    EXPECT_EQ(*database->read_integer("SELECT max(n) FROM (SELECT count(*) AS n FROM checks"
                                      " GROUP BY gpu, problem, build_sha256, launch_hash)"),
              1);
    EXPECT_EQ(*database->read_integer("SELECT max(n) FROM (SELECT count(*) AS n FROM outcomes"
                                      " GROUP BY problem, variant)"),
              1);
  }

  TestFolder folder_;
  std::string family_;
  std::unique_ptr<TestFolder> cache_;  // cold for each sweep, so that compilers run
  std::unique_ptr<MgtuneProgram> mgtune_;
};

TEST_F(CliKillTest, ASweepKilledAtRandomMomentsEndsAsOneThatWasNot) {
  begin();
  const Clock::time_point start = Clock::now();
  const Ended whole = mgtune_->run(words());
  const std::chrono::duration<double> duration = Clock::now() - start;
  ASSERT_EQ(whole.exit_code, 3) << whole;
  const std::set<Row> expected = rows();
  ASSERT_EQ(expected.size(), 9U);
  expect_nothing_twice();

  const auto seed = std::random_device()();
  std::cout << "seed " << seed << ", a sweep takes " << duration.count() << " s\n";
  std::mt19937 random(seed);
  // Each run goes on where the one before was killed, so the moments cover the whole sweep.
  std::uniform_real_distribution<double> moment(0, duration.count() / 4);
  std::chrono::milliseconds slowest{0};
  int sweeps = 0, with_compilers = 0;
  for (int kills = 0; kills < kKills; ++sweeps) {
    begin();
    std::set<Row> before;
    while (true) {
      mgtune_->start(words());
      const Clock::time_point end =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(moment(random)));
      mgtune_->wait_until([&] { return kills < kKills && Clock::now() >= end; });
      if (!mgtune_->runs()) break;
      with_compilers += mgtune_->processes().size() > 4 ? 1 : 0;
      mgtune_->finish(SIGKILL);
      ++kills;
      const auto gone = mgtune_->time_to_be_gone(kTimeToBeGone);
      ASSERT_TRUE(gone.has_value()) << "kill " << kills;
      slowest = std::max(slowest, *gone);
      if (!has_database()) continue;
      expect_whole();
      const std::set<Row> now = rows();
      ASSERT_TRUE(std::ranges::includes(now, before)) << "kill " << kills;
      ASSERT_FALSE(HasFailure()) << "kill " << kills;
      before = now;
    }
    const Ended resumed = mgtune_->finish();
    ASSERT_EQ(resumed.exit_code, 3) << resumed;
    ASSERT_EQ(rows(), expected);
    expect_whole();
    expect_nothing_twice();
    EXPECT_EQ(Store::open(mgtune_->database(), Store::Mode::read_only)->tuned()->size(), 1U);
    ASSERT_FALSE(HasFailure()) << "sweep " << sweeps;
  }
  std::cout << kKills << " kills over " << sweeps << " sweeps, " << with_compilers
            << " of them with compilers running; all processes gone within " << slowest.count()
            << " ms\n";
  EXPECT_GT(with_compilers, 0);
  // What the killed left there, the next run removed.
  EXPECT_TRUE(std::filesystem::is_empty(mgtune_->temporary_files()));
}

}  // namespace
}  // namespace mgtune
