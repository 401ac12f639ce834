// What programs read of a database of any format, without the code that writes it.

#include "database/pick_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "database/open_file.h"
#include "database/pick_queries.h"
#include "store/file/copy.h"
#include "store/schema.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
    "INSERT INTO tuned (id, sweep, gpu, problem, method, variant, build_sha256, default_variant,"
    " median_ns, default_median_ns, tie) VALUES (1, 1, 1, 1, 'rotating', 1, 'sha', 2, 100, 120.5, "
    "0),"
    " (2, 2, 2, 2, 'graph', 3, 'sha-2', NULL, NULL, NULL, 1);";

// All that was read, as a text to compare.
std::string text_of(const PickDatabase::Content& stored) {
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

Result<PickDatabase::Content> content_of(const std::string& path) {
  MGTUNE_ASSIGN(const auto database, PickDatabase::open(path));
  return database->content();
}

class PickDatabaseTest : public StoreTest {
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

// Whoever adds a format looks whether a program still reads it, and every earlier one: the
// tables and columns of its queries have to be the same in all of them. Then kNewestFormat follows.
TEST_F(PickDatabaseTest, KnowsTheNewestFormat) {
  EXPECT_EQ(kNewestFormat, 7);
  EXPECT_EQ(schema_steps().size(), kNewestFormat);
  const auto is_in_every_format = [](const auto& field, const auto&) {
    EXPECT_EQ(field.traits.added_in, 0) << field.name;
  };
  const TunedRecord tuned;
  for_each_column(tuned, is_in_every_format);
  const GpuRecord gpu;
  for_each_column(gpu, is_in_every_format);
}

TEST_F(PickDatabaseTest, EveryFormatHasTheSamePicksAndFailures) {
  for (std::size_t format = 1; format <= schema_steps().size(); ++format) {
    make(format);
    const std::string before = content();
    const Result<PickDatabase::Content> stored = content_of(path_);
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
    EXPECT_EQ(text_of(*content_of(path_)), text_of(*stored)) << "format " << format;
    Store store = Store::open(path_, Store::Mode::read_only).value();
    EXPECT_EQ(text_of({0, *store.tuned(), *store.failures()}), text_of(*stored));
  }
}

// What SQLite says of a walk from this size through picks of the kind "a" on the first GPU: the
// last column of the first 16 rows, and the steps of its machine.
struct Run {
  std::string text;
  int steps = 0;
};
Run run(const Database& database, const std::string& sql, double size) {
  Run run;
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
  sqlite3_bind_text(statement, 1, "a", 1, SQLITE_STATIC);
  sqlite3_bind_int(statement, 2, 1);
  sqlite3_bind_double(statement, 3, size);
  for (int row = 0; row < 16 && sqlite3_step(statement) == SQLITE_ROW; ++row) {
    const int last = sqlite3_column_count(statement) - 1;
    run.text += reinterpret_cast<const char*>(sqlite3_column_text(statement, last));
    run.text += '\n';
  }
  run.steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
  EXPECT_EQ(sqlite3_finalize(statement), SQLITE_OK);
  return run;
}

const PickDatabase::Accepts kAll = [](const std::string&) { return true; };

// Picks of two kinds and two GPUs, many of one of them. A pick's size is its number.
class NearestPicksTest : public StoreTest {
 protected:
  NearestPicksTest() {
    write(kH200Record, "a", 100);
    write(kH200Record, "b", 20);
    write(kT4Record, "a", 30);
    database_ = PickDatabase::open(path_).value();
  }

  void write(const GpuRecord& gpu, const std::string& kind, int count, int first = 0,
             Outcome outcome = Outcome::ok) {
    ImportedSweep sweep;
    sweep.gpu = gpu;
    sweep.measured_at = "2026-11-27T20:00:00Z";
    for (int i = first; i < first + count; ++i) {
      TunedView pick;
      pick.op = "toy.norm";
      pick.problem = kind + "=" + std::to_string(i);
      pick.tuned.variant = "row VEC=" + std::to_string(1 + i % 4);
      pick.tuned.method = "rotating";
      pick.tuned.median_ns = 1000 + i;
      pick.tuned.key = {kind, static_cast<double>(i)};
      ImportedOutcome result{{"toy.norm", pick.problem, 1, 1}, pick.tuned.variant, outcome, {}};
      sweep.picks.push_back(std::move(pick));
      sweep.outcomes.push_back(std::move(result));
    }
    ASSERT_TRUE(open().import_results({sweep}).ok());
  }

  std::vector<std::string> problems(const PickKey& key, std::size_t most,
                                    const GpuRecord& gpu = kH200Record) {
    std::vector<std::string> texts;
    for (const TunedView& row : database_->find("toy.norm", key, gpu, most, kAll).value().picks) {
      texts.push_back(row.problem);
    }
    return texts;
  }

  const GpuRecord kT4Record{"NVIDIA T4", "sm_75", 40, 4 << 20, 16'000'000'000, 65'536, "", false};
  std::unique_ptr<PickDatabase> database_;
};

TEST_F(NearestPicksTest, AreThoseOfTheKindAndTheGpuNextToTheSize) {
  EXPECT_EQ(database_->content().keyed, 150);
  EXPECT_TRUE(database_->content().picks.empty()) << "a plan reads them";
  EXPECT_THAT(problems({"a", 50.2}, 4), ElementsAre("a=50", "a=51", "a=49", "a=52"));
  EXPECT_THAT(problems({"a", 0}, 2), ElementsAre("a=0", "a=1"));
  EXPECT_THAT(problems({"a", 1000}, 2), ElementsAre("a=99", "a=98"));
  EXPECT_EQ(problems({"b", 5}, 64).size(), 20U);
  EXPECT_EQ(problems({"a", 100}, 64, kT4Record).size(), 30U);
  EXPECT_THAT(problems({"c", 5}, 64), IsEmpty());
  EXPECT_THAT(problems({"a", 5}, 64, kCpuRecord), IsEmpty());
  GpuRecord other_driver = kH200Record;
  other_driver.memory_bytes -= 1 << 20;
  EXPECT_THAT(problems({"b", 0}, 1, other_driver), ElementsAre("b=0"));
  const TunedView first =
      database_->find("toy.norm", {"a", 7}, kH200Record, 1, kAll)->picks.front();
  EXPECT_EQ(first.op, "toy.norm");
  EXPECT_EQ(first.tuned.variant, "row VEC=4");
  EXPECT_EQ(first.tuned.method, "rotating");
  EXPECT_EQ(first.tuned.median_ns, 1007);
  EXPECT_EQ(gpu_text(first.gpu), gpu_text(kH200Record));
}

TEST_F(NearestPicksTest, TheGpusWithPicksAreListed) {
  EXPECT_EQ(database_->gpus_with_picks("toy.norm")->size(), 2U);
  EXPECT_EQ(database_->gpus_with_picks("toy.other")->size(), 0U);
}

// Of the nearest by size, not all serve: a size is a product of dims.
TEST_F(NearestPicksTest, WhatIsNotAcceptedCountsForNothing) {
  const auto accepts = [](const std::string& problem) { return problem.ends_with('7'); };
  std::vector<std::string> texts;
  for (const TunedView& row :
       database_->find("toy.norm", {"a", 50}, kH200Record, 3, accepts).value().picks) {
    texts.push_back(row.problem);
  }
  EXPECT_THAT(texts, ElementsAre("a=47", "a=57", "a=37"));
  std::size_t looked = 0;
  const auto none = [&](const std::string&) { return ++looked == 0; };
  write(kH200Record, "c", 1100);
  EXPECT_THAT(database_->find("toy.norm", {"c", 50}, kH200Record, 3, none)->picks, IsEmpty());
  EXPECT_EQ(looked, PickDatabase::kMostLooked);
}

// A walk along an index ends after so many rows; a scan of a table or a sort would read them all.
TEST_F(NearestPicksTest, AnIndexLeadsToThem) {
  const auto database = open_to_read(path_).value();
  for (const bool upwards : {true, false}) {
    const std::string plan =
        run(*database, "EXPLAIN QUERY PLAN " + picks_by_size_sql(upwards), 50).text;
    EXPECT_THAT(plan, HasSubstr(std::string("SEARCH t USING INDEX tuned_by_kind (kind=? AND gpu=? "
                                            "AND size") +
                                (upwards ? ">?)" : "<?)")));
    EXPECT_THAT(plan, HasSubstr("SEARCH p USING INTEGER PRIMARY KEY"));
    EXPECT_THAT(plan, HasSubstr("SEARCH v USING INTEGER PRIMARY KEY"));
    EXPECT_THAT(plan, Not(HasSubstr("SCAN")));
    EXPECT_THAT(plan, Not(HasSubstr("ORDER BY")));
  }
}

// SQLite counts the steps of its machine: with ten times as many picks of the kind, of other kinds
// and of other GPUs, there are no more.
TEST_F(NearestPicksTest, TheWorkDoesNotGrowWithTheDatabase) {
  const auto steps = [&](bool upwards) {
    const auto database = open_to_read(path_).value();
    return run(*database, picks_by_size_sql(upwards), 50).steps;
  };
  const std::array before = {steps(false), steps(true)};
  write(kH200Record, "a", 900, 100);
  write(kT4Record, "a", 900, 100);
  write(kH200Record, "c", 900);
  EXPECT_GT(before[0], 100);
  EXPECT_LE(steps(false), before[0] + 10);
  EXPECT_LE(steps(true), before[1] + 10);
}

TEST_F(NearestPicksTest, WhatAnotherProcessWritesIsFoundAtOnce) {
  EXPECT_FALSE(database_->find("toy.norm", {"a", 5}, kH200Record, 4, kAll)->failures.has_value());
  write(kH200Record, "a", 1, 5000, Outcome::wrong);
  const Result<PickDatabase::Nearest> after =
      database_->find("toy.norm", {"a", 5000}, kH200Record, 1, kAll);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->picks.front().problem, "a=5000");
  ASSERT_TRUE(after->failures.has_value());
  ASSERT_EQ(after->failures->size(), 1U);
  EXPECT_EQ(after->failures->front().variant, "row VEC=1");
  EXPECT_FALSE(database_->find("toy.norm", {"a", 5}, kH200Record, 4, kAll)->failures.has_value());
}

// A transaction that is not committed yet neither shows nor holds up a plan.
TEST_F(NearestPicksTest, AWriterHoldsUpNobody) {
  const Store store = open();  // writes with a log beside the file
  const auto writer = Database::open(path_, Database::Access::read_write).value();
  ASSERT_TRUE(writer->execute("BEGIN IMMEDIATE; DELETE FROM tuned").ok());
  EXPECT_THAT(problems({"a", 0}, 2), ElementsAre("a=0", "a=1"));
  ASSERT_TRUE(writer->execute("COMMIT").ok());
  EXPECT_THAT(problems({"a", 0}, 2), IsEmpty());
}

TEST_F(NearestPicksTest, AViewThatAppearsLaterIsRefused) {
  EXPECT_EQ(problems({"a", 0}, 1).size(), 1U);
  const auto writer = Database::open(path_, Database::Access::read_write).value();
  ASSERT_TRUE(writer->execute("CREATE VIEW best AS SELECT 1").ok());
  const Status status = database_->find("toy.norm", {"a", 0}, kH200Record, 1, kAll).status();
  EXPECT_EQ(status.code(), StatusCode::corrupt);
  EXPECT_THAT(status.message(), HasSubstr("its view 'best' is not mgtune's"));
  ASSERT_TRUE(writer->execute("DROP VIEW best").ok());
  EXPECT_EQ(problems({"a", 0}, 1).size(), 1U);
}

// A program that has plans does not keep a writer from merging its log, whether it asked before the
// writer came, while it was there, or both.
TEST_F(NearestPicksTest, AWriterPutsTheFileAtRest) {
  for (const bool asks_before : {true, false}) {
    if (asks_before) {
      EXPECT_EQ(problems({"a", 0}, 1).size(), 1U);
    }
    {
      const Store store = open();
      EXPECT_GT(folder_.entries(), 1U) << "the log of the writer";
      EXPECT_EQ(problems({"a", 0}, 1).size(), 1U);
    }
    EXPECT_EQ(folder_.entries(), 1U);
  }
}

TEST_F(NearestPicksTest, TheFileAtThePathCounts) {
  const std::string before = content();
  EXPECT_EQ(problems({"a", 0}, 64).size(), 64U);
  ASSERT_TRUE(FileSystem::real().remove(path_).ok());
  EXPECT_THAT(problems({"a", 0}, 64), IsEmpty());
  write(kH200Record, "a", 3);
  EXPECT_EQ(problems({"a", 0}, 64).size(), 3U);
  ASSERT_TRUE(FileSystem::real().write_file(path_, before).ok());
  EXPECT_EQ(problems({"a", 0}, 64).size(), 64U);
}

TEST_F(PickDatabaseTest, PicksOfOlderFormatsHaveNoKey) {
  make(6);
  const auto old = PickDatabase::open(path_).value();
  EXPECT_EQ(old->content().picks.size(), 2U);
  EXPECT_TRUE(old->find("rmsnorm.forward", {"", 0}, kH200Record, 64, kAll)->picks.empty());
  { const Store migrated = Store::open(path_, Store::Mode::read_write).value(); }
  EXPECT_TRUE(old->find("rmsnorm.forward", {"", 0}, kH200Record, 64, kAll).ok());
  const auto migrated = PickDatabase::open(path_).value();
  EXPECT_EQ(migrated->content().picks.size(), 2U);
  EXPECT_EQ(migrated->content().keyed, 0);
}

TEST_F(PickDatabaseTest, AFileWithoutTheTablesHasNoPicks) {
  make(1);
  for (const char* table : {"tuned", "outcomes"}) {
    make(schema_steps().size());
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(
        database->execute("PRAGMA foreign_keys = OFF; DROP TABLE " + std::string(table)).ok());
    EXPECT_EQ(text_of(*content_of(path_)), "");
  }
  // The writer was killed before the tables were there.
  ASSERT_TRUE(FileSystem::real().remove(path_).ok());
  const auto database = Database::open(path_, Database::Access::create).value();
  ASSERT_TRUE(database->execute("PRAGMA application_id = " + std::to_string(kApplicationId)).ok());
  EXPECT_EQ(text_of(*content_of(path_)), "");
}

TEST_F(PickDatabaseTest, OtherFilesAreRefused) {
  EXPECT_EQ(content_of(path_).status().code(), StatusCode::not_found);
  ASSERT_TRUE(FileSystem::real().write_file(path_, "these are not results\n").ok());
  EXPECT_EQ(content_of(path_).status().code(), StatusCode::corrupt);
  make(7, "PRAGMA application_id = 7");
  EXPECT_EQ(content_of(path_).status().code(), StatusCode::incompatible);
  make(7, "PRAGMA user_version = 8");
  const Status newer = content_of(path_).status();
  EXPECT_EQ(newer.code(), StatusCode::incompatible);
  EXPECT_EQ(newer.message(), path_ + " has format 8, this mgtune has 7: use a newer mgtune");
  make(7, "PRAGMA user_version = -1");
  EXPECT_EQ(content_of(path_).status().code(), StatusCode::corrupt);
  make(7,
       "UPDATE outcomes SET outcome = 'splendid' WHERE outcome = 'ok';"
       "UPDATE tuned SET method = printf('%.*c', 1000, 'x')");
  EXPECT_TRUE(content_of(path_).ok()) << "words are judged where they are used";
  make(7);
  ASSERT_TRUE(FileSystem::real().write_file(path_, content().substr(0, content().size() / 2)).ok());
  EXPECT_EQ(content_of(path_).status().code(), StatusCode::corrupt);
}

// Nothing of a stranger's SQL runs.
TEST_F(PickDatabaseTest, WhatIsNoPlainTableIsRefused) {
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
    make(7);
    {
      const auto database = Database::open(path_, Database::Access::read_write).value();
      ASSERT_EQ(sqlite3_db_config(database->handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr), 0);
      const Status changed = database->execute(sql);
      ASSERT_TRUE(changed.ok()) << sql << ": " << changed.message();
    }
    const std::string before = content();
    const Status status = content_of(path_).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt) << sql << ": " << status.message();
    EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr(part)));
    EXPECT_EQ(content(), before);
  }
}

}  // namespace
}  // namespace mgtune
