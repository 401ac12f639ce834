#include "store/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/file_system.h"
#include "store/store.h"
#include "tests/helpers/temporary_folder.h"

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

  TemporaryFolder folder_;
};

TEST_F(SchemaTest, ANewFileGetsEveryTableAndOurMark) {
  const auto database = open("new.db");
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  EXPECT_EQ(version(*database), static_cast<std::int64_t>(schema_steps().size()));
  EXPECT_EQ(*database->read_integer("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(*database->read_text("SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema"
                                 " WHERE type = 'table' ORDER BY name)"),
            "builds,ceilings,checks,environments,gpus,measurements,operators,outcomes,problems,"
            "sweeps,tuned,"
            "variants");
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
constexpr std::string_view kFirst = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);";
constexpr std::string_view kSecond = "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT 'old'";
constexpr std::string_view kThird =
    "CREATE TABLE b (z TEXT) STRICT; INSERT INTO b SELECT y FROM a;";
constexpr std::string_view kBroken =
    "INSERT INTO a VALUES (2, 'x'); INSERT INTO nowhere VALUES (1)";

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

TEST_F(SchemaTest, AFileThatIsNewerThanTheStepsIsLeftAlone) {
  const auto database = open("newer.db");
  ASSERT_TRUE(migrate(*database, std::vector{kFirst, kSecond}).ok());
  ASSERT_TRUE(migrate(*database, std::vector{kFirst}).ok());
  EXPECT_EQ(version(*database), 2);
}

TEST_F(SchemaTest, AStoreOfAnOlderFormatIsReadOnlyAfterMigration) {
  {
    const auto database = open("old.db");
    ASSERT_TRUE(migrate(*database, schema_steps()).ok());
    ASSERT_TRUE(database->execute("PRAGMA user_version = 0").ok());
  }
  const std::string path = folder_.file("old.db");
  const Status status = Store::open(path, Store::Mode::read_only).status();
  EXPECT_EQ(status.code(), StatusCode::incompatible);
  EXPECT_EQ(status.message(), path +
                                  " has format 0, this mgtune has 1: the next sweep into it brings"
                                  " it up to date");
}

}  // namespace
}  // namespace mgtune
