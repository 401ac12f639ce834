#include "store/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/store.h"
#include "system/file_system.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

class SchemaTest : public testing::Test {
 protected:
  std::unique_ptr<Database> open(const std::string& name) {
    return Database::open(folder_.file(name), Database::Access::create).value();
  }

  static std::int64_t version(Database& database) {
    return *database.read_integer("PRAGMA user_version");
  }

  TestFolder folder_;
};

TEST_F(SchemaTest, ANewFileGetsEveryTableAndOurMark) {
  const auto database = open("new.db");
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(version(*database), static_cast<std::int64_t>(schema_steps().size()));
  EXPECT_EQ(*database->read_integer("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(
      *database->read_text("SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema"
                           " WHERE type = 'table' ORDER BY name)"),
      "builds,ceilings,checks,counters,environments,finalists,finals,gpus,measurements,metrics,"
      "operators,outcomes,peers,problems,pruned,spaces,sweeps,tuned,variants");
}

TEST_F(SchemaTest, EveryTableIsStrict) {
  const auto database = open("new.db");
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(*database->read_integer("SELECT count(*) FROM pragma_table_list"
                                    " WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'"
                                    " AND NOT strict"),
            0);
}

TEST_F(SchemaTest, MigratingTwiceChangesNothing) {
  const auto database = open("new.db");
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  const std::string before = *FileSystem::real().read_file(folder_.file("new.db"));
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(*FileSystem::real().read_file(folder_.file("new.db")), before);
}

// Steps of a made-up history: what a later mgtune will do to files of an earlier one.
const std::string kFirst = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);";
const std::string kSecond = "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT 'old'";
const std::string kThird = "CREATE TABLE b (z TEXT) STRICT; INSERT INTO b SELECT y FROM a;";
const std::string kBroken = "INSERT INTO a VALUES (2, 'x'); INSERT INTO nowhere VALUES (1)";

TEST_F(SchemaTest, AnOlderFileGoesThroughTheStepsItLacks) {
  const auto database = open("old.db");
  ASSERT_TRUE(migrate(*database, std::vector{kFirst}).ok());
  EXPECT_EQ(version(*database), 1);
  ASSERT_TRUE(migrate(*database, std::vector{kFirst, kSecond, kThird}).ok());
  EXPECT_EQ(version(*database), 3);
  EXPECT_EQ(*database->read_integer("SELECT count(*) FROM a"), 1);  // the first step ran once
  EXPECT_EQ(*database->read_text("SELECT z FROM b"), "old");
}

TEST_F(SchemaTest, AFailingStepUndoesTheWholeMigration) {
  const auto database = open("old.db");
  ASSERT_TRUE(migrate(*database, std::vector{kFirst}).ok());
  const Status status = migrate(*database, std::vector{kFirst, kSecond, kBroken});
  EXPECT_EQ(status.message(), folder_.file("old.db") + ": no such table: nowhere");
  EXPECT_EQ(version(*database), 1);
  EXPECT_EQ(*database->read_integer("SELECT count(*) FROM pragma_table_info('a')"), 1);
}

TEST_F(SchemaTest, WhatVersion1MeasuredIsStillThere) {
  const auto database = open("v1.db");
  ASSERT_TRUE(migrate(*database, schema_steps().first(1)).ok());
  ASSERT_TRUE(
      database
          ->execute("INSERT INTO gpus VALUES (1, 'NVIDIA H200', 'sm_90', 132, 6, 7, 8, '', 0);"
                    "INSERT INTO environments VALUES (1, '0.1.0', 'NVRTC', '580', 'Debian');"
                    "INSERT INTO operators VALUES (1, 'rmsnorm.forward');"
                    "INSERT INTO problems VALUES (1, 1, 'rows=1', 1000, 5);"
                    "INSERT INTO sweeps VALUES (1, 1, 1, 'mgtune sweep', 'random', '',"
                    " '2026-11-20T08:00:00Z', '');"
                    "INSERT INTO measurements VALUES (1, 1, 1, 1, 'sha', 'launch',"
                    " 'rotating', 'ok', '', 100, 99, 101, 98, 20, 'note');"
                    "INSERT INTO ceilings VALUES (1, 1, 1, 'rotating', 1000, 50);"
                    "INSERT INTO ceilings VALUES (2, 1, 1, 'rotating', 2000, NULL)")
          .code() != StatusCode::ok)
      << "a ceiling without a time";
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(version(*database), static_cast<std::int64_t>(schema_steps().size()));
  EXPECT_EQ(*database->read_integer("SELECT median_ns + median_low_ns + throttled_samples"
                                    " FROM measurements WHERE note = 'note' AND sm_mhz = 0"),
            100);
  EXPECT_EQ(*database->read_text("SELECT kind || ' ' || bytes || ' ' || rate || ' ' || measured_at"
                                 " FROM ceilings"),
            "copy 1000 20000000000.0 2026-11-20T08:00:00Z");
}

TEST_F(SchemaTest, OutcomesOfVersion2HaveNoTimeOfRecording) {
  const auto database = open("v2.db");
  ASSERT_TRUE(migrate(*database, schema_steps().first(2)).ok());
  ASSERT_TRUE(database
                  ->execute("PRAGMA foreign_keys = OFF;"
                            "INSERT INTO outcomes (sweep, problem, variant, outcome, message,"
                            " build_sha256) VALUES (1, 1, 1, 'ok', 'kept', 'sha')")
                  .ok());
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(*database->read_text("SELECT message || recorded_at FROM outcomes"), "kept");
}

TEST_F(SchemaTest, BuildsOfVersion5HaveNoSizes) {
  const auto database = open("v5.db");
  ASSERT_TRUE(migrate(*database, schema_steps().first(5)).ok());
  ASSERT_TRUE(database
                  ->execute("INSERT INTO builds (key, sha256, arch, outcome, message, registers,"
                            " spill_bytes, static_shared_bytes)"
                            " VALUES ('key', 'sha', 'sm_90', 'ok', 'Used 40 registers', 40, 0, 32)")
                  .ok());
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(*database->read_text("SELECT message || ' ' || registers || ' ' || code_bytes || ' ' ||"
                                 " ptx_bytes FROM builds"),
            "Used 40 registers 40 -1 -1");
}

TEST_F(SchemaTest, PicksOfVersion6HaveNoKey) {
  const auto database = open("v6.db");
  ASSERT_TRUE(migrate(*database, schema_steps().first(6)).ok());
  ASSERT_TRUE(database
                  ->execute("PRAGMA foreign_keys = OFF;"
                            "INSERT INTO tuned VALUES (1, 1, 1, 1, 'rotating', 1, 'sha', 2, 100,"
                            " 120.5, 0)")
                  .ok());
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(*database->read_text("SELECT method || kind || size FROM tuned"), "rotating0.0");
}

TEST_F(SchemaTest, AFileThatIsNewerThanTheStepsIsLeftAlone) {
  const auto database = open("newer.db");
  ASSERT_TRUE(migrate(*database, std::vector{kFirst, kSecond}).ok());
  ASSERT_TRUE(migrate(*database, std::vector{kFirst}).ok());
  EXPECT_EQ(version(*database), 2);
}

TEST_F(SchemaTest, AStoreOfAnOlderFormatIsReadFromACopyAndStaysAsItIs) {
  const std::string path = folder_.file("old.db");
  {
    const auto database = open("old.db");
    ASSERT_TRUE(migrate(*database, schema_steps().first(1)).ok());
    ASSERT_TRUE(database
                    ->execute("INSERT INTO gpus VALUES (1, 'H200', 'sm_90', 132, 6, 7, 8, '', 0);"
                              "INSERT INTO environments VALUES (1, '0.1.0', 'NVRTC', '580', '');"
                              "INSERT INTO sweeps VALUES (1, 1, 1, 'mgtune sweep', 'random', '',"
                              " '2026-11-20T08:00:00Z', '')")
                    .ok());
  }
  const std::string before = *FileSystem::real().read_file(path);
  Result<Store> store = Store::open(path, Store::Mode::read_only);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store->sweeps()->size(), 1U);
  EXPECT_TRUE(store->finals()->empty());
  EXPECT_EQ(*FileSystem::real().read_file(path), before);
}

TEST_F(SchemaTest, AStoreOfEveryEarlierFormatIsReadAndWritten) {
  for (std::size_t version = 1; version <= schema_steps().size(); ++version) {
    const std::string name = std::to_string(version) + ".db";
    ASSERT_TRUE(migrate(*open(name), schema_steps().first(version)).ok());
    for (const Store::Mode mode : {Store::Mode::read_only, Store::Mode::read_write}) {
      Result<Store> store = Store::open(folder_.file(name), mode);
      ASSERT_TRUE(store.ok()) << store.status().message();
      EXPECT_TRUE(store->outcomes()->empty());
      EXPECT_TRUE(store->spaces()->empty());
      EXPECT_TRUE(store->peers()->empty());
    }
  }
}

}  // namespace
}  // namespace mgtune
