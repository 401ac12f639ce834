#include "store/file/store_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "database/database.h"
#include "store/schema.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using StoreFileTest = StoreTest;

TEST_F(StoreFileTest, WritingCreatesTheFileAndItsFolder) {
  path_ = folder_.file("deep/er/results.db");
  EXPECT_EQ(open().path(), path_);
  EXPECT_TRUE(Store::open(path_, Store::Mode::read_only).ok());
}

TEST_F(StoreFileTest, ReadingAMissingOrEmptyFileIsNotFoundAndCreatesNothing) {
  const Status missing = Store::open(path_, Store::Mode::read_only).status();
  EXPECT_EQ(missing.code(), StatusCode::not_found);
  EXPECT_EQ(missing.message(), "there is no database " + path_);
  EXPECT_EQ(folder_.entries(), 0u);
  ASSERT_TRUE(FileSystem::real().write_file(path_, "").ok());
  EXPECT_EQ(Store::open(path_, Store::Mode::read_only).status().code(), StatusCode::not_found);
  EXPECT_EQ(content(), "");
}

TEST_F(StoreFileTest, AnEmptyFileBecomesAStoreWhenWritten) {
  ASSERT_TRUE(FileSystem::real().write_file(path_, "").ok());
  EXPECT_TRUE(open().gpu_id(kCpuRecord).ok());
}

TEST_F(StoreFileTest, NoPathAndPathsThatAreNoFilesAreRefused) {
  for (const Store::Mode mode : {Store::Mode::read_only, Store::Mode::read_write}) {
    EXPECT_EQ(Store::open("", mode).status().code(), StatusCode::invalid_argument);
    EXPECT_EQ(Store::open(folder_.path(), mode).status().message(),
              folder_.path() + " is not a file");
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(Store::open(path_, mode).status().code(), StatusCode::io);  // and does not wait
    ASSERT_EQ(::unlink(path_.c_str()), 0);
  }
}

// For a scope, whoever is root is a user who may not write to root's folders.
class NoRoot {
 public:
  NoRoot() {
    if (was_root_ && ::seteuid(65534) != 0) was_root_ = false;
  }
  NoRoot(const NoRoot&) = delete;
  NoRoot& operator=(const NoRoot&) = delete;
  ~NoRoot() {
    if (was_root_) static_cast<void>(!::seteuid(0));
  }

 private:
  bool was_root_ = ::geteuid() == 0;
};

TEST_F(StoreFileTest, AFolderThatCannotBeWrittenIsNamed) {
  // A killed writer leaves a log, for which a reader needs a file beside it.
  const std::string log = folder_.file("left.db");
  {
    Store writer = Store::open(log, Store::Mode::read_write).value();
    ASSERT_TRUE(writer.gpu_id(kCpuRecord).ok());
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy(log + suffix, folder_.file("copy.db") + suffix);
    }
  }
  ASSERT_EQ(::chmod(folder_.file("copy.db").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.file("copy.db-wal").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  {
    const NoRoot no_root;
    const std::string cause =
        "the folder " + folder_.path() + " cannot be written (Permission denied)";
    const Status made = Store::open(folder_.file("new.db"), Store::Mode::read_write).status();
    EXPECT_EQ(made.code(), StatusCode::io);
    EXPECT_EQ(made.message(), folder_.file("new.db") + ": unable to open database file: " + cause);
    const Status read = Store::open(folder_.file("copy.db"), Store::Mode::read_only).status();
    EXPECT_EQ(read.message(), folder_.file("copy.db") + ": unable to open database file: " + cause);
  }
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
}

TEST_F(StoreFileTest, AtRestItIsOneFileInDeleteModeAndReadersAddNone) {
  {
    Store store = open();
    ASSERT_TRUE(store.record(outcome_in(store)).ok());
  }
  EXPECT_EQ(folder_.entries(), 1u);
  const std::string before = content();
  {
    Store reader = Store::open(path_, Store::Mode::read_only).value();
    EXPECT_EQ(reader.outcomes()->size(), 1u);
    EXPECT_EQ(folder_.entries(), 1u);
  }
  EXPECT_EQ(folder_.entries(), 1u);
  EXPECT_EQ(content(), before);
}

TEST_F(StoreFileTest, AReaderSeesWhatAWriterThatIsStillOpenRecorded) {
  Store writer = open();
  ASSERT_TRUE(writer.record(outcome_in(writer)).ok());
  Store reader = Store::open(path_, Store::Mode::read_only).value();
  EXPECT_EQ(reader.outcomes()->size(), 1u);
  OutcomeRecord second = outcome_in(writer);
  second.variant = "row VEC=4";
  ASSERT_TRUE(writer.record(second).ok());
  EXPECT_EQ(reader.outcomes()->size(), 2u);
}

TEST_F(StoreFileTest, WhileItIsWrittenItsJournalFitsTheFileSystem) {
  const Store writer = open();
  const auto database = Database::open(path_, Database::Access::read_only).value();
  const bool wal = can_have_wal(path_);
  EXPECT_EQ(*database->read_text("PRAGMA journal_mode"), wal ? "wal" : "delete");
}

TEST_F(StoreFileTest, AReaderCannotInsert) {
  { Store store = open(); }
  Store reader = Store::open(path_, Store::Mode::read_only).value();
  EXPECT_EQ(reader.gpu_id(kCpuRecord).status().code(), StatusCode::io);
}

// ---- files that are refused ----

const std::string kOurFormat = std::to_string(schema_steps().size());

class RefusedFileTest : public StoreTest {
 protected:
  // Opens in both modes, expects `code` and part of the message, and the file byte for byte as it
  // was.
  void expect_refused(StatusCode code, const std::string& part) {
    const std::string before = content();
    const std::size_t files = folder_.entries();
    for (const Store::Mode mode : {Store::Mode::read_only, Store::Mode::read_write}) {
      const Status status = Store::open(path_, mode).status();
      EXPECT_EQ(status.code(), code) << status.message();
      EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
      EXPECT_EQ(folder_.entries(), files);
      EXPECT_TRUE(content() == before);
    }
  }

  void make_store_with_rows() {
    Store store = open();
    for (int i = 0; i < 50; ++i) {
      OutcomeRecord record = outcome_in(store);
      record.variant = "row VEC=" + std::to_string(i);
      record.build.message = std::string(500, 'w');
      ASSERT_TRUE(store.record(record).ok());
    }
  }

  void remove_store() { ASSERT_TRUE(FileSystem::real().remove(path_).ok()); }

  void write(const std::string& bytes) {
    ASSERT_TRUE(FileSystem::real().write_file(path_, bytes).ok());
  }
};

TEST_F(RefusedFileTest, TextIsCorrupt) {
  write("these are not results\n");
  expect_refused(StatusCode::corrupt, "it is no SQLite file");
  write(std::string(10'000, '\0'));
  expect_refused(StatusCode::corrupt, "it is no SQLite file");
}

TEST_F(RefusedFileTest, AHeaderAloneIsCorrupt) {
  make_store_with_rows();
  write(content().substr(0, 60));
  expect_refused(StatusCode::corrupt, "it is no SQLite file");
}

TEST_F(RefusedFileTest, ATruncatedFileIsCorrupt) {
  make_store_with_rows();
  write(content().substr(0, content().size() / 2));
  expect_refused(StatusCode::corrupt, "");
}

TEST_F(RefusedFileTest, AnOverwrittenPageIsCorrupt) {
  make_store_with_rows();
  std::string bytes = content();
  const std::size_t page = 4096;
  ASSERT_GT(bytes.size(), 4 * page);
  // Every page in turn, so that tables, indexes and the schema all get their share.
  for (std::size_t at = page; at + page <= bytes.size(); at += page) {
    std::string damaged = bytes;
    damaged.replace(at, page, page, '\x5a');
    write(damaged);
    expect_refused(StatusCode::corrupt, "");
  }
}

TEST_F(RefusedFileTest, AnotherProgramsDatabaseIsIncompatible) {
  {
    const auto database = Database::open(path_, Database::Access::create).value();
    ASSERT_TRUE(database->execute("CREATE TABLE photos (id INTEGER PRIMARY KEY)").ok());
  }
  expect_refused(StatusCode::incompatible, "another program's SQLite file");
}

TEST_F(RefusedFileTest, ANewerFormatIsIncompatible) {
  make_store_with_rows();
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  expect_refused(StatusCode::incompatible,
                 "has format 99, this mgtune has " + kOurFormat + ": use a newer mgtune");
}

TEST_F(RefusedFileTest, ANegativeFormatIsCorrupt) {
  make_store_with_rows();
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database->execute("PRAGMA user_version = -1").ok());
  }
  expect_refused(StatusCode::corrupt,
                 "has format -1, this mgtune has " + kOurFormat + ": no mgtune wrote that");
}

TEST_F(RefusedFileTest, MissingTablesAreCorrupt) {
  { Store store = open(); }
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database->execute("DROP TABLE tuned").ok());
  }
  expect_refused(StatusCode::corrupt, "it has no table 'tuned'");
}

TEST_F(RefusedFileTest, WhateverMgtuneDoesNotMakeIsCorrupt) {
  const std::string endless =
      " AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS id, 1 AS"
      " sweep, 1 AS gpu, 1 AS problem, 'rotating' AS method, 1 AS variant, '' AS build_sha256,"
      " NULL AS default_variant, 1.0 AS median_ns, 1.0 AS default_median_ns, 0 AS tie FROM r";
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"DROP TABLE tuned; CREATE VIEW tuned" + endless, "its view 'tuned' is not mgtune's"},
      {"CREATE VIEW best" + endless, "its view 'best' is not mgtune's; remove that"},
      {"CREATE TRIGGER t AFTER INSERT ON gpus BEGIN DELETE FROM sweeps; END",
       "its trigger 't' is not mgtune's"},
      {"CREATE TABLE more (x TEXT)", "its table 'more' is not mgtune's"},
      {"CREATE VIRTUAL TABLE words USING fts5(x)", "its table 'words"},
      {"CREATE INDEX extra ON outcomes (abs(message))", "its index 'extra' is not mgtune's"},
      {"CREATE VIEW \"\x1b[2J\" AS SELECT 1", "its view '?[2J' is not mgtune's"},
      {"DROP INDEX checks_by_key; CREATE INDEX checks_by_key ON checks (abs(gpu))",
       "its index 'checks_by_key' was changed"},
      {"ALTER TABLE tuned ADD COLUMN x TEXT AS (printf('%.*c', 1000000000, 'x'))",
       "its table 'tuned' was changed"},
      {"DROP INDEX checks_by_key", "it has no index 'checks_by_key'"},
      {"PRAGMA user_version = 2", "is not as mgtune makes it"},
      {"PRAGMA user_version = 0", "is not as mgtune makes it"}};
  for (const auto& [sql, part] : changes) {
    remove_store();
    make_store_with_rows();
    {
      const auto database = Database::open(path_, Database::Access::read_write).value();
      const Status changed = database->execute(sql);
      ASSERT_TRUE(changed.ok()) << sql << ": " << changed.message();
    }
    expect_refused(StatusCode::corrupt, part);
  }
}

// A sweep would find out in the middle of its work, when it has changed the file.
TEST_F(RefusedFileTest, RowsThatCannotBeReadAreNotWrittenTo) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE outcomes SET outcome = 'splendid' WHERE id = 7", "unknown outcome 'splendid'"},
      {"UPDATE checks SET outcome = 'splendid' WHERE id = 1", "unknown outcome 'splendid'"},
      {"UPDATE measurements SET outcome = '' WHERE id = 1", "unknown outcome ''"},
      {"UPDATE builds SET outcome = 'OK' WHERE id = 1", "unknown outcome 'OK'"},
      {"UPDATE finalists SET samples_ns = '[1, {}]'", "samples that are no array of numbers"},
      {"PRAGMA foreign_keys = OFF; DELETE FROM problems", "refers to a row that is not there"}};
  for (const auto& [sql, part] : changes) {
    remove_store();
    make_store_with_rows();
    {
      const auto database = Database::open(path_, Database::Access::read_write).value();
      ASSERT_TRUE(
          database
              ->execute("INSERT INTO finals SELECT 1, sweep, gpu, problem, method, 0, '', '',"
                        " 0, 0, 0, 0, '', 0 FROM measurements LIMIT 1;"
                        "INSERT INTO finalists VALUES (1, 0, 1, '', '', 1, 1, 1, 1, 1, 1, 1,"
                        " '[1, 2.5]', 0, 0)")
              .ok());
      ASSERT_TRUE(database->execute(sql).ok()) << sql;
    }
    const std::string before = content();
    const Status status = Store::open(path_, Store::Mode::read_write).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt) << sql;
    EXPECT_NE(status.message().find(path_ + ": "), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    EXPECT_TRUE(content() == before) << sql;
  }
}

TEST_F(RefusedFileTest, AnUnknownOutcomeIsCorrupt) {
  make_store_with_rows();
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database->execute("UPDATE checks SET outcome = 'splendid' WHERE id = 1").ok());
  }
  Store reader = Store::open(path_, Store::Mode::read_only).value();
  EXPECT_EQ(reader.outcomes().status().message(), path_ + ": unknown outcome 'splendid'");
}

}  // namespace
}  // namespace mgtune
