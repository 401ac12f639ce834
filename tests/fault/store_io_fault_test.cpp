// Every call that SQLite makes on a store's files goes wrong in turn: the file stays whole, with
// what was there before or with the whole of what was being written, and the failure names the file
// and is exit code 5.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "cli/exit_code.h"
#include "database/database.h"
#include "store/schema.h"
#include "tests/fault/faulty_vfs.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using Mode = FaultyVfs::Mode;
using testing::HasSubstr;

class StoreIoFault : public StoreTest {
 protected:
  // For each way to fail and each call that `work` makes: `prepare`, then `work` with that call
  // failing, then `check` of its status with everything well again. Returns the calls that failed.
  std::set<std::string> at_every_call(const std::function<void()>& prepare,
                                      const std::function<Status()>& work,
                                      const std::function<void(const Status&)>& check) {
    std::set<std::string> calls;
    for (const Mode mode : {Mode::full, Mode::short_write, Mode::io_error, Mode::broken}) {
      // In the short lane a third of the calls, another third for each mode.
      const int stride = in_long_lane(1, 3);
      for (int call = static_cast<int>(mode) % stride;; call += stride) {
        FaultyVfs vfs;
        prepare();
        vfs.fail(call, mode);
        const Status status = work();
        vfs.heal();
        if (!vfs.has_struck()) break;
        calls.insert(vfs.struck_call());
        const testing::ScopedTrace trace(__FILE__, __LINE__,
                                         vfs.struck_call() + ", call " + std::to_string(call) +
                                             ", mode " + std::to_string(static_cast<int>(mode)) +
                                             ": " + status.message());
        if (!status.ok()) {
          EXPECT_EQ(exit_code(status.code()), ExitCode::data);
          EXPECT_THAT(status.message(), HasSubstr(path_));
        }
        check(status);
        if (HasFailure()) return calls;
      }
    }
    return calls;
  }

  // What the file says to a connection of its own, of which the first recovers it.
  void expect_whole() {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    EXPECT_EQ(*database->read_text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(*database->read_integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }

  void remove_files() {
    store_.reset();
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      std::filesystem::remove_all(entry.path());
    }
  }

  // A store with one outcome and one pick, open for writing.
  void open_with_one_outcome() {
    remove_files();
    if (!stored_.empty()) {
      std::ofstream(path_, std::ios::binary) << stored_;
      store_.emplace(open());
      return;
    }
    store_.emplace(open());
    record_ = outcome_in(*store_);
    ASSERT_TRUE(store_->record(record_).ok());
    tuned_ = {};
    tuned_.sweep = record_.sweep;
    tuned_.gpu = record_.key.gpu;
    tuned_.problem = record_.key.problem;
    tuned_.method = "emulation";
    tuned_.variant = record_.variant;
    tuned_.build_sha256 = record_.key.build_sha256;
    tuned_.median_ns = 100;
    ASSERT_TRUE(store_->record_tuned(tuned_).ok());
    store_.reset();
    stored_ = content();
    store_.emplace(open());
  }

  std::optional<Store> store_;
  std::string stored_;  // the file of open_with_one_outcome()
  OutcomeRecord record_;
  TunedRecord tuned_;
};

TEST_F(StoreIoFault, CreatingAStore) {
  const std::set<std::string> calls =
      at_every_call([this] { remove_files(); },
                    [this] { return Store::open(path_, Store::Mode::read_write).status(); },
                    [this](const Status&) {
                      // Nothing, or a file that becomes a store.
                      Result<Store> store = Store::open(path_, Store::Mode::read_write);
                      ASSERT_TRUE(store.ok()) << store.status().message();
                      EXPECT_TRUE(store->sweeps()->empty());
                      expect_whole();
                    });
  EXPECT_THAT(calls, testing::IsSupersetOf({"xOpen", "xRead", "xWrite", "xSync", "xDelete"}));
}

// Whether the maker of a store, a process of its own, was killed in place of its n-th call. It was
// not if it makes fewer calls.
bool is_maker_killed_at(int call, const std::string& path) {
  constexpr int kMadeIt = 7;
  const pid_t maker = ::fork();
  EXPECT_GE(maker, 0);
  if (maker == 0) {
    FaultyVfs vfs;
    vfs.fail(call, Mode::killed);
    static_cast<void>(Store::open(path, Store::Mode::read_write));
    ::_exit(kMadeIt);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(maker, &status, 0), maker);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) != kMadeIt;
}

// While the first commit is half done, the file has content. Whoever reads it first rolls it back,
// and an empty file is left. The next reader finds no database.
TEST_F(StoreIoFault, AStoreWhoseMakerIsKilledReadsAsNoneOrAsAnEmptyOne) {
  int rolled_back = 0;
  constexpr int kMoreThanItMakes = 1000;
  for (int call = 0;; ++call) {
    ASSERT_LT(call, kMoreThanItMakes);
    remove_files();
    if (!is_maker_killed_at(call, path_)) break;
    const testing::ScopedTrace trace(__FILE__, __LINE__, "call " + std::to_string(call));
    const bool had_content =
        std::filesystem::exists(path_) && std::filesystem::file_size(path_) > 0;
    Result<Store> first = Store::open(path_, Store::Mode::read_only);
    ASSERT_EQ(first.ok(), had_content) << first.status().message();
    if (had_content) expect_whole();
    Result<Store> second = Store::open(path_, Store::Mode::read_only);
    if (second.ok()) {
      EXPECT_TRUE(second->sweeps()->empty());
    } else {
      ASSERT_EQ(second.status().code(), StatusCode::not_found) << second.status().message();
    }
    rolled_back += first.ok() && !second.ok() ? 1 : 0;
    ASSERT_TRUE(Store::open(path_, Store::Mode::read_write).ok());
  }
  EXPECT_GT(rolled_back, 0);
}

TEST_F(StoreIoFault, BringingAnOlderStoreUpToDate) {
  const auto rows = [this] {
    const auto database = Database::open(path_, Database::Access::read_only).value();
    EXPECT_EQ(*database->read_text("SELECT model FROM gpus"), "H200");
    return *database->read_integer("PRAGMA user_version");
  };
  at_every_call(
      [this] {
        remove_files();
        const auto database = Database::open(path_, Database::Access::create).value();
        ASSERT_TRUE(migrate(*database, schema_steps().first(1)).ok());
        ASSERT_TRUE(
            database->execute("INSERT INTO gpus VALUES (1, 'H200', 'sm_90', 132, 6, 7, 8, '', 0)")
                .ok());
      },
      [this] { return Store::open(path_, Store::Mode::read_write).status(); },
      [&](const Status& status) {
        expect_whole();
        const std::int64_t version = rows();
        EXPECT_TRUE(version == 1 || version == static_cast<std::int64_t>(schema_steps().size()));
        if (status.ok()) {
          EXPECT_NE(version, 1);
        }
        ASSERT_TRUE(Store::open(path_, Store::Mode::read_write).ok());
        EXPECT_EQ(rows(), static_cast<std::int64_t>(schema_steps().size()));
      });
}

TEST_F(StoreIoFault, RecordingAnOutcome) {
  const std::set<std::string> calls = at_every_call(
      [this] { open_with_one_outcome(); },
      [this] {
        OutcomeRecord record = record_;
        record.variant = "row VEC=4";
        record.key.build_sha256 = record.build.sha256 = "sha-2";
        record.build.key = "key-2";
        record.message = std::string(20'000, 'm');
        Status status = store_->record(record);
        store_.reset();  // closing has its own calls, and no way to fail
        return status;
      },
      [this](const Status& status) {
        expect_whole();
        const std::vector<OutcomeView> rows = *open().outcomes();
        ASSERT_GE(rows.size(), 1U);
        EXPECT_LE(rows.size(), 2U);
        if (status.ok()) {
          EXPECT_EQ(rows.size(), 2U) << "acknowledged and lost";
        }
        const auto database = Database::open(path_, Database::Access::read_only).value();
        for (const char* table : {"variants", "builds", "checks", "measurements"}) {
          EXPECT_EQ(*database->read_integer(std::string("SELECT count(*) FROM ") + table),
                    static_cast<std::int64_t>(rows.size()))
              << table;  // all of an outcome or none of it
        }
        for (const OutcomeView& row : rows) {
          EXPECT_TRUE(row.check && row.measurement);
          EXPECT_EQ(row.build_sha256, row.variant == "row VEC=8" ? "sha-1" : "sha-2");
        }
      });
  EXPECT_THAT(calls, testing::IsSupersetOf({"xRead", "xWrite", "xSync"}));
}

TEST_F(StoreIoFault, RecordingAnOutcomeWithoutALog) {  // as on network file systems
  const std::set<std::string> calls = at_every_call(
      [this] {
        open_with_one_outcome();
        store_.reset();
      },
      [this] {
        const Result<std::unique_ptr<Database>> database =
            Database::open(path_, Database::Access::read_write);
        if (!database.ok()) return database.status();
        return (*database)->execute(
            "BEGIN IMMEDIATE; UPDATE outcomes SET message = 'new';"
            "UPDATE checks SET message = 'new'; COMMIT");
      },
      [this](const Status& status) {
        expect_whole();
        const auto database = Database::open(path_, Database::Access::read_only).value();
        const std::string outcome = *database->read_text("SELECT message FROM outcomes");
        EXPECT_EQ(*database->read_text("SELECT message FROM checks"), outcome);
        if (status.ok()) {
          EXPECT_EQ(outcome, "new");
        }
      });
  EXPECT_THAT(calls, testing::IsSupersetOf({"xOpen", "xRead", "xWrite", "xSync", "xDelete"}));
}

TEST_F(StoreIoFault, RecordingAPick) {
  at_every_call([this] { open_with_one_outcome(); },
                [this] {
                  TunedRecord tuned = tuned_;
                  tuned.variant = "row VEC=2";
                  tuned.median_ns = 50;
                  Status status = store_->record_tuned(tuned);
                  store_.reset();
                  return status;
                },
                [this](const Status& status) {
                  expect_whole();
                  const std::vector<TunedView> rows = *open().tuned();
                  ASSERT_EQ(rows.size(), 1U);
                  const TunedRecord& tuned = rows[0].tuned;
                  const bool is_new = tuned.variant == "row VEC=2";
                  EXPECT_EQ(tuned.variant, is_new ? "row VEC=2" : "row VEC=8");
                  EXPECT_EQ(tuned.median_ns, is_new ? 50 : 100);
                  if (status.ok()) {
                    EXPECT_TRUE(is_new);
                  }
                });
}

TEST_F(StoreIoFault, KeepingTheRowsOfAFileThatWasRemoved) {
  const Variable data("XDG_DATA_HOME", folder_.file("home"));
  const std::vector<std::string> places = {folder_.file("results.rescued.db"),
                                           folder_.file("home/mgtune/results.rescued.db")};
  at_every_call([this] { open_with_one_outcome(); },
                [this] {
                  std::filesystem::remove(path_);
                  OutcomeRecord record = record_;
                  record.variant = "row VEC=4";
                  Status status = store_->record(record);
                  store_.reset();
                  return status;
                },
                [&](const Status& status) {
                  ASSERT_THAT(status.message(), HasSubstr(path_ + " was removed, or another file"));
                  const bool is_lost =
                      status.message().find("it held is lost") != std::string::npos;
                  std::size_t kept = 0;
                  for (const std::string& place : places) {
                    if (!std::filesystem::exists(place)) continue;
                    ++kept;
                    EXPECT_THAT(status.message(), HasSubstr("is now in " + place));
                    Store rescued = Store::open(place, Store::Mode::read_only).value();
                    EXPECT_EQ(rescued.outcomes()->front().variant, "row VEC=8");
                    EXPECT_EQ(rescued.tuned()->size(), 1U);
                  }
                  EXPECT_EQ(kept, is_lost ? 0U : 1U);
                });
}

TEST_F(StoreIoFault, Reading) {
  open_with_one_outcome();
  store_.reset();
  const std::string before = content();
  std::size_t rows = 1;
  at_every_call([] {},
                [&] {
                  Result<Store> store = Store::open(path_, Store::Mode::read_only);
                  if (!store.ok()) return store.status();
                  const Result<std::vector<OutcomeView>> outcomes = store->outcomes();
                  if (outcomes.ok()) rows = outcomes->size();
                  return outcomes.status();
                },
                [&](const Status&) {
                  EXPECT_EQ(rows, 1U);  // all of them, or a failure
                  EXPECT_EQ(content(), before);
                });
}

}  // namespace
}  // namespace mgtune
