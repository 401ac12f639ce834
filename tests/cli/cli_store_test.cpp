// Databases that somebody else made or takes away: a hostile one ends every command at once, one
// that is refused stays as it is, and results outlive a file that is removed in the middle of a
// sweep.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "database/database.h"
#include "store/store.h"
#include "tests/helpers/mgtune_program.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = MgtuneProgram::Words;

class CliStoreTest : public VectorAddTest {
 protected:
  CliStoreTest() {
    edit("add.json", R"(["good", "wrong", "broken"])", R"(["good"])");
    // All variants but the default, which comes first, wait for the gate.
    edit("add.cu", "#include <mg/types.cuh>", "#include <mg/types.cuh>\n#include <unistd.h>");
    edit("add.cu", "  if (i >= n) return;\n",
         "  if (i >= n) return;\n  while (kThreads != 64 && threadIdx.x == 0 && ::access(\"" +
             gate_ + "\", F_OK) != 0) ::usleep(1000);\n");
    open_gate();
    fs::create_directories(mgtune_.data_folder());
  }

  void open_gate() const { std::ofstream(gate_) << "open"; }

  Words sweep() const { return {"sweep", "--gpu", "cpu", "--kernel", family_}; }

  void make_store(const std::string& path) const {
    const Store made = Store::open(path, Store::Mode::read_write).value();
  }

  static void change(const std::string& path, const std::string& sql) {
    const auto database = Database::open(path, Database::Access::read_write).value();
    const Status changed = database->execute(sql);
    ASSERT_TRUE(changed.ok()) << changed.message();
  }

  static std::size_t rows(const std::string& path) {
    Result<Store> store = Store::open(path, Store::Mode::read_only);
    return store.ok() ? store->outcomes()->size() : 0;
  }

  // Starts a sweep, and lets `act` change the folder when the first variant is recorded and the
  // others wait.
  template <typename Act>
  Ended sweep_and(const Act& act) {
    fs::remove(gate_);
    mgtune_.start(sweep());
    EXPECT_TRUE(mgtune_.wait_until([&] { return rows(mgtune_.database()) > 0; }));
    act();
    open_gate();
    return mgtune_.finish();
  }

  void expect_rescued(const Ended& ended) {
    EXPECT_EQ(ended.exit_code, 5) << ended;
    const std::string rescued = mgtune_.data_folder() + "/results.rescued.db";
    EXPECT_THAT(ended.err, AllOf(HasSubstr(mgtune_.database() + " was removed, or another file"),
                                 HasSubstr("All that was recorded is now in " + rescued)))
        << ended;
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("results in"))) << ended;
    EXPECT_GT(rows(rescued), 0U);
    const Ended merged = mgtune_.run({"merge", mgtune_.database(), rescued});
    EXPECT_EQ(merged.exit_code, 0) << merged;
    const Ended again = mgtune_.run(sweep());
    EXPECT_EQ(again.exit_code, 0) << again;
    EXPECT_EQ(rows(mgtune_.database()), 3U);
  }

  const std::string gate_ = mgtune_.folder().file("gate");
};

TEST_F(CliStoreTest, AnEndlessViewEndsEveryCommandAtOnce) {
  const std::string path = mgtune_.database();
  make_store(path);
  change(path,
         "PRAGMA foreign_keys = OFF; ALTER TABLE tuned RENAME TO old; CREATE VIEW tuned AS WITH"
         " RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS id, 1 AS sweep,"
         " 1 AS gpu, 1 AS problem, 'rotating' AS method, 1 AS variant, '' AS build_sha256, 1 AS"
         " default_variant, 1.0 AS median_ns, 1.0 AS default_median_ns, 0 AS tie FROM r");
  const std::string before = file_content(path);
  const std::string good = mgtune_.folder().file("good.db");
  make_store(good);
  const std::vector<Words> commands = {{"show", "best"},
                                       {"report", "-o", mgtune_.folder().file("report.html")},
                                       {"merge", good, path},
                                       {"merge", path, good},
                                       {"export", "--format", "csv"},
                                       sweep()};
  for (const Words& words : commands) {
    expect_refused(mgtune_.run(words), 5, HasSubstr("is not mgtune's"));
    EXPECT_EQ(file_content(path), before) << words.front();
    EXPECT_EQ(fs::exists(path + "-wal"), false);
  }
}

TEST_F(CliStoreTest, ARefusedDatabaseIsNotChanged) {
  ASSERT_EQ(mgtune_.run(sweep()).exit_code, 0);
  const std::string path = mgtune_.database();
  change(path, "UPDATE outcomes SET outcome = 'splendid' WHERE id = 1");
  const std::string before = file_content(path);
  expect_refused(mgtune_.run(sweep()), 5, HasSubstr("unknown outcome 'splendid'"));
  EXPECT_TRUE(file_content(path) == before);
}

TEST_F(CliStoreTest, ASweepWhoseDatabaseIsRemovedKeepsItsRows) {
  expect_rescued(sweep_and([this] { fs::remove(mgtune_.database()); }));
}

TEST_F(CliStoreTest, ASweepWhoseDatabaseIsRemovedWithItsLogKeepsItsRows) {
  expect_rescued(sweep_and([this] {
    for (const char* part : {"", "-wal", "-shm"}) fs::remove(mgtune_.database() + part);
  }));
}

TEST_F(CliStoreTest, ASweepWhoseDatabaseIsReplacedKeepsItsRows) {
  const std::string other = mgtune_.folder().file("other.db");
  make_store(other);
  expect_rescued(sweep_and([&] { fs::rename(other, mgtune_.database()); }));
}

}  // namespace
}  // namespace mgtune
