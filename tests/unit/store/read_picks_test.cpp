// What programs read of a database of any format, without the code that writes it.

#include "database/read_picks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "database/open_file.h"
#include "store/file/copy.h"
#include "store/schema.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Rows of format 1. Of the two failures of the first problem, the H200 has a newer result.
constexpr char kPicksOfFormat1[] =
    "INSERT INTO gpus VALUES (1, 'NVIDIA H200', 'sm_90', 132, 6, 7, 8, '', 0),"
    " (2, 'NVIDIA T4', 'sm_75', 40, 4, 5, 6, '', 0);"
    "INSERT INTO environments VALUES (1, '0.1.0', 'NVRTC', '580', 'Debian');"
    "INSERT INTO operators VALUES (1, 'rmsnorm.forward'), (2, 'swiglu.forward');"
    "INSERT INTO problems VALUES (1, 1, 'rows=1', 1000, 5), (2, 2, 'rows=2', 10, 50);"
    "INSERT INTO variants VALUES (1, 1, 'row VEC=8'), (2, 1, 'row VEC=4'), (3, 2, 'flat VEC=2');"
    "INSERT INTO sweeps VALUES (1, 1, 1, 'mgtune sweep', 'random', '', '2026-11-20T08:00:00Z', ''),"
    " (2, 2, 1, 'mgtune sweep', 'random', '', '2026-11-20T09:00:00Z', '');"
    "INSERT INTO outcomes (sweep, problem, variant, outcome, message, build_sha256) VALUES"
    " (1, 1, 2, 'wrong', '', ''), (2, 1, 2, 'crashed', '', ''), (1, 2, 3, 'compile_failed', '', "
    "'');"
    "INSERT INTO sweeps VALUES (3, 1, 1, 'mgtune sweep', 'random', '', '2026-11-21T08:00:00Z', '');"
    "INSERT INTO outcomes (sweep, problem, variant, outcome, message, build_sha256) VALUES"
    " (3, 1, 2, 'ok', '', '');"
    "INSERT INTO tuned VALUES (1, 1, 1, 1, 'rotating', 1, 'sha', 2, 100, 120.5, 0),"
    " (2, 2, 2, 2, 'graph', 3, 'sha-2', NULL, NULL, NULL, 1);";

// All that was read, as a text to compare.
std::string text_of(const StoredPicks& stored) {
  std::string text;
  for (const TunedView& row : stored.picks) {
    const TunedRecord& tuned = row.tuned;
    text += row.op + " " + row.problem + " " + tuned.variant + " " + tuned.default_variant + " " +
            std::to_string(row.bytes) + " " + std::to_string(row.flops) + " " +
            std::to_string(tuned.sweep) + " " + std::to_string(tuned.gpu) + " " +
            std::to_string(tuned.problem) + record_json(tuned).line_text() + gpu_text(row.gpu) +
            "\n";
  }
  for (const FailureView& row : stored.failures) {
    text += row.op + " " + row.variant + " " + std::string(to_string(row.outcome)) +
            gpu_text(row.gpu) + "\n";
  }
  return text;
}

class ReadPicksTest : public StoreTest {
 protected:
  // Makes the file, in the format, with the rows.
  void make(std::size_t format, const std::string& more = "") {
    static_cast<void>(FileSystem::real().remove(path_));
    const auto database = Database::open(path_, Database::Access::create).value();
    ASSERT_TRUE(migrate(*database, schema_steps().first(format)).ok());
    const Status written = database->execute(kPicksOfFormat1 + more);
    ASSERT_TRUE(written.ok()) << written.message();
  }
};

// Whoever adds a format looks whether read_picks() still reads it, and every earlier one: the
// tables and columns of its queries have to be the same in all of them. Then kNewestFormat follows.
TEST_F(ReadPicksTest, KnowsTheNewestFormat) {
  EXPECT_EQ(kNewestFormat, 6);
  EXPECT_EQ(schema_steps().size(), kNewestFormat);
  const auto is_in_every_format = [](const auto& field, const auto&) {
    EXPECT_EQ(field.traits.added_in, 0) << field.name;
  };
  const TunedRecord tuned;
  for_each_column(tuned, is_in_every_format);
  const GpuRecord gpu;
  for_each_column(gpu, is_in_every_format);
}

TEST_F(ReadPicksTest, EveryFormatHasTheSamePicksAndFailures) {
  for (std::size_t format = 1; format <= schema_steps().size(); ++format) {
    make(format);
    const std::string before = content();
    const Result<StoredPicks> stored = read_picks(path_);
    ASSERT_TRUE(stored.ok()) << stored.status().message();
    EXPECT_EQ(content(), before);
    EXPECT_EQ(folder_.entries(), 1U);
    ASSERT_EQ(stored->picks.size(), 2U);
    EXPECT_EQ(stored->picks[0].tuned.variant, "row VEC=8");
    EXPECT_EQ(stored->picks[0].tuned.default_variant, "row VEC=4");
    EXPECT_EQ(stored->picks[0].tuned.default_median_ns, 120.5);
    EXPECT_EQ(stored->picks[0].gpu.model, "NVIDIA H200");
    EXPECT_EQ(stored->picks[1].op, "swiglu.forward");
    ASSERT_EQ(stored->failures.size(), 1U);
    EXPECT_EQ(stored->failures[0].outcome, Outcome::crashed);
    EXPECT_EQ(stored->failures[0].gpu.model, "NVIDIA T4");
    { const Store migrated = Store::open(path_, Store::Mode::read_write).value(); }
    EXPECT_EQ(text_of(*read_picks(path_)), text_of(*stored)) << "format " << format;
    Store store = Store::open(path_, Store::Mode::read_only).value();
    EXPECT_EQ(text_of({*store.tuned(), *store.failures()}), text_of(*stored));
  }
}

TEST_F(ReadPicksTest, AFileWithoutTheTablesHasNoPicks) {
  make(1);
  for (const char* table : {"tuned", "outcomes"}) {
    make(schema_steps().size());
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(
        database->execute("PRAGMA foreign_keys = OFF; DROP TABLE " + std::string(table)).ok());
    EXPECT_EQ(text_of(*read_picks(path_)), "");
  }
  // The writer was killed before the tables were there.
  ASSERT_TRUE(FileSystem::real().remove(path_).ok());
  const auto database = Database::open(path_, Database::Access::create).value();
  ASSERT_TRUE(database->execute("PRAGMA application_id = " + std::to_string(kApplicationId)).ok());
  EXPECT_EQ(text_of(*read_picks(path_)), "");
}

TEST_F(ReadPicksTest, OtherFilesAreRefused) {
  EXPECT_EQ(read_picks(path_).status().code(), StatusCode::not_found);
  ASSERT_TRUE(FileSystem::real().write_file(path_, "these are not results\n").ok());
  EXPECT_EQ(read_picks(path_).status().code(), StatusCode::corrupt);
  make(6, "PRAGMA application_id = 7");
  EXPECT_EQ(read_picks(path_).status().code(), StatusCode::incompatible);
  make(6, "PRAGMA user_version = 7");
  const Status newer = read_picks(path_).status();
  EXPECT_EQ(newer.code(), StatusCode::incompatible);
  EXPECT_EQ(newer.message(), path_ + " has format 7, this mgtune has 6: use a newer mgtune");
  make(6, "PRAGMA user_version = -1");
  EXPECT_EQ(read_picks(path_).status().code(), StatusCode::corrupt);
  make(6,
       "UPDATE outcomes SET outcome = 'splendid' WHERE outcome = 'ok';"
       "UPDATE tuned SET method = printf('%.*c', 1000, 'x')");
  EXPECT_TRUE(read_picks(path_).ok()) << "words are judged where they are used";
  make(6);
  ASSERT_TRUE(FileSystem::real().write_file(path_, content().substr(0, content().size() / 2)).ok());
  EXPECT_EQ(read_picks(path_).status().code(), StatusCode::corrupt);
}

// Nothing of a stranger's SQL runs.
TEST_F(ReadPicksTest, WhatIsNoPlainTableIsRefused) {
  const std::string endless =
      " AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS id, 1 AS"
      " sweep, 1 AS gpu, 1 AS problem, 'rotating' AS method, 1 AS variant, '' AS build_sha256,"
      " NULL AS default_variant, 1.0 AS median_ns, 1.0 AS default_median_ns, 0 AS tie FROM r";
  // The file says that a view is something else. SQLite or we notice, before a row is read.
  const auto lie = [](const std::string& changed) {
    return "CREATE VIEW best AS SELECT 1; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET " +
           changed + " WHERE name = 'best'";
  };
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"DROP TABLE tuned; CREATE VIEW tuned" + endless, "its view 'tuned' is not mgtune's"},
      {"CREATE VIEW best" + endless, "its view 'best' is not mgtune's; remove that"},
      {"CREATE TRIGGER t AFTER INSERT ON gpus BEGIN DELETE FROM sweeps; END",
       "its trigger 't' is not mgtune's"},
      {"CREATE VIRTUAL TABLE words USING fts5(x)", "its table 'words"},
      {"CREATE VIEW \"\x1b[2J\" AS SELECT 1", "its view '?[2J' is not mgtune's"},
      {"ALTER TABLE tuned ADD COLUMN x TEXT AS (printf('%.*c', 1000000000, 'x'))",
       "its column 'x' of tuned is not mgtune's"},
      {lie("type = 'table'"), "best"},
      {lie("type = 'table', rootpage = 2"), "best"},
      {lie("type = 'index', rootpage = 2, sql = 'CREATE/**/VIEW best AS SELECT 1'"), "best"}};
  for (const auto& [sql, part] : changes) {
    make(6);
    {
      const auto database = Database::open(path_, Database::Access::read_write).value();
      ASSERT_EQ(sqlite3_db_config(database->handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr), 0);
      const Status changed = database->execute(sql);
      ASSERT_TRUE(changed.ok()) << sql << ": " << changed.message();
    }
    const std::string before = content();
    const Status status = read_picks(path_).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt) << sql << ": " << status.message();
    EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr(part)));
    EXPECT_EQ(content(), before);
  }
}

}  // namespace
}  // namespace mgtune
