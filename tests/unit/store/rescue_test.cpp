// The file of a store is removed or replaced while it is written: the next write fails, and all
// that was recorded is in another file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "database/database.h"
#include "store/file/place_guard.h"
#include "store/schema.h"
#include "store/transaction.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class RescueTest : public StoreTest {
 protected:
  RescueTest() {
    fs::create_directory(folder_.file("data"));
    path_ = folder_.file("data/results.db");
  }

  // A store with one outcome, which the text of its command tells from others.
  void make_other_store(const std::string& path) {
    Store other = Store::open(path, Store::Mode::read_write).value();
    OutcomeRecord record = outcome_in(other);
    record.variant = "row VEC=2";
    ASSERT_TRUE(other.record(record).ok());
  }

  // Records one outcome, lets `act` change the folder, and records a second one. Returns the
  // failure of the second.
  std::string lose_place(const std::function<void()>& act) {
    Store store = open();
    OutcomeRecord record = outcome_in(store);
    EXPECT_TRUE(store.record(record).ok());
    act();
    record.variant = "row VEC=4";
    Status status = store.record(record);
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_THAT(status.message(), HasSubstr(path_ + " was removed, or another file was put"));
    EXPECT_EQ(store.record(record).message(), status.message());  // and rescues nothing twice
    return status.message();
  }

  static std::vector<std::string> variants_of(const std::string& path) {
    Result<Store> store = Store::open(path, Store::Mode::read_only);
    if (!store.ok()) return {store.status().message()};
    std::vector<std::string> variants;
    for (const OutcomeView& row : store->outcomes().value()) variants.push_back(row.variant);
    return variants;
  }

  const std::vector<std::string> all_ = {"row VEC=8", "row VEC=4"};
};

TEST_F(RescueTest, ARemovedFilesRowsAreBesideItsPlace) {
  const std::string failure = lose_place([this] { fs::remove(path_); });
  const std::string rescued = folder_.file("data/results.rescued.db");
  EXPECT_THAT(failure, HasSubstr("All that was recorded is now in " + rescued));
  EXPECT_THAT(failure, HasSubstr("'mgtune merge OTHER.db " + rescued + "'"));
  EXPECT_EQ(variants_of(rescued), all_);
  EXPECT_FALSE(fs::exists(path_));
  // The merge that the message names.
  EXPECT_EQ(open().merge({rescued})->outcomes, 2);
  EXPECT_EQ(variants_of(path_), all_);
}

TEST_F(RescueTest, RemovedWithItsLogItIsKeptAsWell) {
  lose_place([this] {
    for (const char* part : {"", "-wal", "-shm"}) fs::remove(path_ + part);
  });
  EXPECT_EQ(variants_of(folder_.file("data/results.rescued.db")), all_);
}

TEST_F(RescueTest, TheFileThatIsInThePlaceNowKeepsItsOwnRows) {
  const std::string other = folder_.file("other.db");
  make_other_store(other);
  const std::string content_of_other = *FileSystem::real().read_file(other);
  lose_place([&] { fs::rename(other, path_); });
  EXPECT_EQ(content(), content_of_other);
  // The log of the old file is gone. Otherwise it would be applied to this one.
  EXPECT_EQ(variants_of(path_), std::vector<std::string>{"row VEC=2"});
  EXPECT_EQ(variants_of(folder_.file("data/results.rescued.db")), all_);
}

TEST_F(RescueTest, ALinkThatLeadsElsewhereIsAnotherFile) {
  const std::string target = folder_.file("target.db"), other = folder_.file("other.db");
  make_other_store(other);
  make_other_store(target);
  fs::create_symlink(target, path_);
  lose_place([&] {
    fs::remove(path_);
    fs::create_symlink(other, path_);
  });
  EXPECT_EQ(variants_of(path_), std::vector<std::string>{"row VEC=2"});
  EXPECT_EQ(variants_of(folder_.file("data/results.rescued.db")).size(), 3U);
  EXPECT_EQ(variants_of(target).size(), 3U);  // nobody touched this one
}

TEST_F(RescueTest, FilesOfTheRescuesNameStay) {
  const std::string first = folder_.file("data/results.rescued.db");
  ASSERT_TRUE(FileSystem::real().write_file(first, "mine").ok());
  fs::create_symlink(folder_.file("nowhere"), folder_.file("data/results.rescued-2.db"));
  lose_place([this] { fs::remove(path_); });
  EXPECT_EQ(*FileSystem::real().read_file(first), "mine");
  EXPECT_FALSE(fs::exists(folder_.file("nowhere")));
  EXPECT_EQ(variants_of(folder_.file("data/results.rescued-3.db")), all_);
}

TEST_F(RescueTest, WithoutItsFolderTheRowsGoToTheUsersOwn) {
  const Variable data("XDG_DATA_HOME", folder_.file("home"));
  const std::string failure =
      lose_place([this] { fs::rename(folder_.file("data"), folder_.file("gone")); });
  const std::string rescued = folder_.file("home/mgtune/results.rescued.db");
  EXPECT_THAT(failure, HasSubstr("now in " + rescued));
  EXPECT_EQ(variants_of(rescued), all_);
}

TEST_F(RescueTest, IfNothingCanBeKeptTheMessageSaysSo) {
  const Variable data("XDG_DATA_HOME", "/proc");
  const std::string failure =
      lose_place([this] { fs::rename(folder_.file("data"), folder_.file("gone")); });
  EXPECT_THAT(failure,
              AllOf(HasSubstr("All that it held is lost"), HasSubstr("No such file or directory")));
}

// On a network file system, where SQLite itself refuses to write into a file that was moved.
TEST_F(RescueTest, WithoutALogTheRowsAreKeptToo) {
  const auto database = Database::open(path_, Database::Access::create).value();
  ASSERT_TRUE(migrate(*database, schema_steps()).ok());
  ASSERT_TRUE(database->execute("INSERT INTO operators VALUES (1, 'kept')").ok());
  watch_place(*database);
  fs::remove(path_);
  Transaction transaction = Transaction::begin(*database).value();
  Statement insert = database->query("INSERT INTO operators VALUES (2, 'in flight')").value();
  const Status status = insert.run();
  EXPECT_THAT(status.message(), HasSubstr(path_ + " was removed, or another file was put"));
  const auto rescued =
      Database::open(folder_.file("data/results.rescued.db"), Database::Access::read_only).value();
  EXPECT_EQ(*rescued->read_text("SELECT group_concat(name) FROM operators"), "kept");
}

TEST_F(RescueTest, EveryKindOfWriteNotices) {
  const std::vector<std::function<Status(Store&)>> writes = {
      [](Store& store) { return store.gpu_id(kH200Record).status(); },
      [](Store& store) { return store.problem_id("new", "n=1", 1, 1).status(); },
      [](Store& store) { return store.finish_sweep(1, "2026-11-21T09:00:00Z"); },
      [](Store& store) { return store.withdraw_tuned(1, 1, "emulation"); },
      [](Store& store) { return store.record_ceiling(1, 1, CeilingRecord{}); },
      [](Store& store) { return store.import_results({}).status(); },
      [](Store& store) { return store.merge({}).status(); }};
  for (const auto& write : writes) {
    Store store = open();
    ASSERT_TRUE(store.record(outcome_in(store)).ok());
    fs::remove(path_);
    EXPECT_THAT(write(store).message(), HasSubstr("was removed, or another file"));
  }
}

TEST_F(RescueTest, AStoreThatStaysInItsPlaceIsAsBefore) {
  {
    Store store = open();
    ASSERT_TRUE(store.record(outcome_in(store)).ok());
    fs::rename(path_, folder_.file("moved"));
    fs::rename(folder_.file("moved"), path_);
    OutcomeRecord record = outcome_in(store);
    record.variant = "row VEC=4";
    EXPECT_TRUE(store.record(record).ok());
  }
  EXPECT_EQ(variants_of(path_), all_);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.file("data")), {}), 1);
}

}  // namespace
}  // namespace mgtune
