#include "database/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "system/file_system.h"
#include "tests/helpers/database_fixture.h"

namespace mgtune {
namespace {

TEST_F(DatabaseTest, BytesThatAreNotUtf8AreReplaced) {
  Statement insert = database_->query("INSERT INTO t (s) VALUES (?)", "x\xFFy \xC3").value();
  ASSERT_TRUE(insert.run().ok());
  EXPECT_EQ(*database_->read_text("SELECT s FROM t"), "x\xEF\xBF\xBDy \xEF\xBF\xBD");
}

TEST_F(DatabaseTest, EveryTypeRoundTrips) {
  const std::string text("a\0b'\"\n\xc3\xa9", 8);
  const std::int64_t large = std::numeric_limits<std::int64_t>::min();
  Statement insert = database_->query("INSERT INTO t VALUES (?, ?, ?)", large, 0.1, text).value();
  ASSERT_TRUE(insert.run().ok());
  Statement row = database_->query("SELECT i, r, s FROM t").value();
  ASSERT_TRUE(*row.step());
  EXPECT_EQ(row.integer(0), large);
  EXPECT_EQ(row.real(1), 0.1);
  EXPECT_EQ(row.text(2), text);
  EXPECT_FALSE(*row.step());
}

TEST_F(DatabaseTest, NaNAndEmptyOptionalAreNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), infinity, -infinity, -0.0}) {
    Statement insert =
        database_->query("INSERT INTO t VALUES (?, ?, ?)", std::optional<std::int64_t>(), value, "")
            .value();
    ASSERT_TRUE(insert.run().ok());
  }
  Statement row = database_->query("SELECT i, r, s FROM t").value();
  ASSERT_TRUE(*row.step());
  EXPECT_TRUE(row.is_null(0));
  EXPECT_TRUE(row.is_null(1));
  EXPECT_TRUE(std::isnan(row.real(1)));
  EXPECT_FALSE(row.is_null(2));  // an empty text is a text
  ASSERT_TRUE(*row.step());
  EXPECT_EQ(row.real(1), infinity);
  ASSERT_TRUE(*row.step());
  EXPECT_EQ(row.real(1), -infinity);
}

TEST_F(DatabaseTest, FailuresNameTheFileAndCarrySqlitesMessage) {
  const Status missing = database_->query("SELECT * FROM nowhere").status();
  EXPECT_EQ(missing.code(), StatusCode::corrupt);
  EXPECT_EQ(missing.message(), path_ + ": no such table: nowhere");
  const Status type = database_->execute("INSERT INTO t VALUES ('x', 0, '')");
  EXPECT_EQ(type.code(), StatusCode::internal);
  EXPECT_EQ(type.message(), path_ + ": cannot store TEXT value in INTEGER column t.i");
}

TEST_F(DatabaseTest, TooManyValuesFailAtTheStep) {
  Statement insert = database_->query("INSERT INTO t (i) VALUES (?)", 1, 2).value();
  EXPECT_EQ(insert.run().code(), StatusCode::internal);
  EXPECT_EQ(rows(), 0);
}

TEST_F(DatabaseTest, ForeignKeysAreEnforced) {
  ASSERT_TRUE(database_
                  ->execute("CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;"
                            "CREATE TABLE child (p INTEGER REFERENCES parent) STRICT")
                  .ok());
  const Status status = database_->execute("INSERT INTO child VALUES (7)");
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_EQ(status.message(), path_ + ": FOREIGN KEY constraint failed");
}

TEST_F(DatabaseTest, AReaderCannotWrite) {
  const auto reader = Database::open(path_, Database::Access::read_only).value();
  const Status status = reader->execute("INSERT INTO t VALUES (1, 1, '')");
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_EQ(status.message(), path_ + ": attempt to write a readonly database");
}

TEST_F(DatabaseTest, ReadingThatDoesNotEndIsGivenUp) {
  const std::string endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) ";
  database_->set_read_limit(std::chrono::milliseconds(50));
  // In one step, and in many steps that are short.
  const Status in_one = database_->read_integer(endless + "SELECT count(*) FROM r").status();
  EXPECT_EQ(in_one.code(), StatusCode::io);
  EXPECT_EQ(in_one.message(),
            path_ + ": reading it took more than 0.05 s of processor time, so it was given up");
  Statement many = database_->query(endless + "SELECT x FROM r").value();
  EXPECT_EQ(many.run().code(), StatusCode::io);
  // Writing takes as long as it takes, and what follows has its own time.
  EXPECT_TRUE(database_
                  ->execute("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r"
                            " WHERE x < 1000000) INSERT INTO t SELECT count(*), 0, '' FROM r")
                  .ok());
  EXPECT_EQ(*database_->read_integer("SELECT count(*) FROM t"), 1);
}

// How often the statement of this text ran, which was compiled once; -1 if it was not kept.
int runs_of(Database& database, std::string_view sql) {
  for (sqlite3_stmt* statement = sqlite3_next_stmt(database.handle(), nullptr);
       statement != nullptr; statement = sqlite3_next_stmt(database.handle(), statement)) {
    if (sqlite3_sql(statement) != sql) continue;
    return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
  }
  return -1;
}

TEST_F(DatabaseTest, AStatementOfTheSameTextIsCompiledOnce) {
  const std::string insert = "INSERT INTO t (i, s) VALUES (?, ?)";
  for (std::int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(database_->query(insert, i, "x")->run().ok());
  }
  EXPECT_EQ(runs_of(*database_, insert), 3);
  EXPECT_EQ(*database_->read_integer("SELECT sum(i) FROM t"), 0 + 1 + 2);
}

TEST_F(DatabaseTest, AStatementThatWasKeptBeginsAnew) {
  const std::string insert = "INSERT INTO t (i, s) VALUES (?, ?)";
  ASSERT_TRUE(database_->query(insert, 7, "x")->run().ok());
  ASSERT_TRUE(database_->query(insert, 8)->run().ok());  // without the text of before
  EXPECT_FALSE(database_->query(insert, 1, "y", 2)->run().ok());
  const std::string select = "SELECT i, s FROM t ORDER BY i";
  for (int time = 0; time < 2; ++time) {
    Statement row = database_->query(select).value();
    ASSERT_TRUE(*row.step());
    EXPECT_EQ(row.integer(0), 7);
    EXPECT_EQ(row.text(1), "x");  // and the second row is not read
    Statement beside = database_->query(select).value();
    ASSERT_TRUE(*beside.step());
    EXPECT_EQ(beside.integer(0), 7) << "two at a time";
    ASSERT_TRUE(*row.step());
    EXPECT_EQ(row.integer(0), 8);
    EXPECT_TRUE(row.is_null(1));
  }
  ASSERT_TRUE(database_->execute("ALTER TABLE t RENAME COLUMN i TO j; DELETE FROM t").ok())
      << "no statement that was kept reads the table";
  EXPECT_FALSE(database_->query(select)->step().ok()) << "it has no such column any more";
}

TEST_F(DatabaseTest, ThirtyTwoStatementsAreKept) {
  const auto text = [](int i) { return "SELECT " + std::to_string(i); };
  for (int i = 0; i < 40; ++i) EXPECT_EQ(*database_->read_integer(text(i)), i);
  EXPECT_EQ(*database_->read_integer(text(8)), 8);  // now the one that was used last
  EXPECT_EQ(*database_->read_integer(text(40)), 40);
  EXPECT_EQ(runs_of(*database_, text(8)), 2);
  EXPECT_EQ(runs_of(*database_, text(9)), -1);
  EXPECT_EQ(runs_of(*database_, text(10)), 1);
}

TEST_F(DatabaseTest, TheHeaderIsTheFilesFirstBytes) {
  EXPECT_EQ(*database_->header(), FileSystem::real().read_file(path_)->substr(0, 100));
}

TEST(DatabaseOpen, MissingFilesAndFoldersAreIoErrors) {
  const TestFolder folder;
  for (const std::string& path : {folder.file("none.db"), folder.file("no/where.db")}) {
    const Status status = Database::open(path, Database::Access::read_only).status();
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_EQ(status.message(),
              path + ": unable to open database file (No such file or directory)");
  }
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(DatabaseOpen, AFileThatIsNoDatabaseIsCorruptWhenRead) {
  const TestFolder folder;
  const std::string path = folder.file("text");
  ASSERT_TRUE(FileSystem::real().write_file(path, std::string(5000, 'x')).ok());
  const auto database = Database::open(path, Database::Access::read_only).value();
  const Status status = database->read_integer("PRAGMA user_version").status();
  EXPECT_EQ(status.code(), StatusCode::corrupt);
  EXPECT_EQ(status.message(), path + ": file is not a database");
}

TEST(DatabaseOpen, AShortFileHasAShortHeader) {
  const TestFolder folder;
  ASSERT_TRUE(FileSystem::real().write_file(folder.file("short"), "abc").ok());
  const auto database = Database::open(folder.file("short"), Database::Access::read_only).value();
  EXPECT_EQ(*database->header(), "abc");
}

}  // namespace
}  // namespace mgtune
