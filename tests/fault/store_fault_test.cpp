// A killed writer loses at most the outcome that was not acknowledged.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>

#include "database/database.h"
#include "store/schema.h"
#include "store/store.h"
#include "system/file_system.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

const int kKills = in_long_lane(200, 30);

Result<OutcomeRecord> begin(Store& store) {
  SweepRecord sweep;
  MGTUNE_ASSIGN(sweep.gpu, store.gpu_id({"cpu", "cpu", 0, 0, 0, 0, "", true}));
  MGTUNE_ASSIGN(sweep.environment, store.environment_id({"0.1.0", "g++", "", "Linux"}));
  OutcomeRecord record;
  MGTUNE_ASSIGN(record.sweep, store.begin_sweep(sweep));
  record.key.gpu = sweep.gpu;
  MGTUNE_ASSIGN(record.key.problem, store.problem_id("rmsnorm.forward", "rows=4", 1, 2));
  record.check = CheckRecord{};
  record.measurement = MeasurementRecord{};
  record.measurement->method = "emulation";
  return record;
}

// Records outcomes "0", "1", ... from `first` on and writes each number to `acknowledge` once its
// record() returned. Ends only by a failure or a signal.
int write_forever(const std::string& path, int first, int acknowledge) {
  Result<Store> store = Store::open(path, Store::Mode::read_write);
  if (!store.ok()) return 1;
  Result<OutcomeRecord> record = begin(*store);
  if (!record.ok()) return 2;
  for (int number = first;; ++number) {
    record->variant = std::to_string(number);
    record->key.build_sha256 = record->build.sha256 = "sha " + record->variant;
    record->build.key = "key " + record->variant;
    record->message = std::string(300, 'm');
    if (!store->record(*record).ok()) return 3;
    if (::write(acknowledge, &number, sizeof(number)) != sizeof(number)) return 4;
  }
}

std::optional<int> next_number(int pipe) {
  int number = 0;
  if (::read(pipe, &number, sizeof(number)) != sizeof(number)) return std::nullopt;
  return number;
}

// Runs a writer, kills it a moment `after` it acknowledged `count` numbers, and returns all that it
// acknowledged. (By count, because how many a disk syncs in a second differs a hundredfold.)
std::vector<int> killed_writer(const std::string& path, int first, std::size_t count,
                               std::chrono::microseconds after) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    ::close(pipe[0]);
    ::_exit(write_forever(path, first, pipe[1]));
  }
  ::close(pipe[1]);
  std::vector<int> numbers;
  while (numbers.size() < count) {
    const std::optional<int> number = next_number(pipe[0]);
    if (!number) break;  // it failed; the next lines say so
    numbers.push_back(*number);
  }
  ::usleep(static_cast<useconds_t>(after.count()));
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer failed with " << WEXITSTATUS(status);
  while (const std::optional<int> number = next_number(pipe[0])) numbers.push_back(*number);
  ::close(pipe[0]);
  return numbers;
}

std::set<std::string> recorded_variants(const std::string& path, Store::Mode mode) {
  Result<Store> store = Store::open(path, mode);
  if (!store.ok()) {
    ADD_FAILURE() << store.status().message();
    return {};
  }
  std::set<std::string> variants;
  const std::vector<OutcomeView> outcomes = store->outcomes().value();
  for (const OutcomeView& outcome : outcomes) {
    EXPECT_EQ(outcome.build_sha256, "sha " + outcome.variant);  // no half of a transaction
    EXPECT_TRUE(outcome.check && outcome.measurement);
    variants.insert(outcome.variant);
  }
  return variants;
}

std::string integrity(const std::string& path) {
  const auto database = Database::open(path, Database::Access::read_only).value();
  EXPECT_EQ(*database->read_integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  return *database->read_text("PRAGMA integrity_check");
}

TEST(StoreFault, WhatWasAcknowledgedSurvivesKillsAtAnyMoment) {
  const TestFolder folder;
  const std::string path = folder.file("results.db");
  std::mt19937 random(20261121);
  std::set<std::string> acknowledged;
  int next = 0;
  for (int round = 0; round < kKills; ++round) {
    const std::size_t count = random() % 8;
    const std::chrono::microseconds after(random() % 8'000);
    for (const int number : killed_writer(path, next, count, after)) {
      acknowledged.insert(std::to_string(number));
      next = number + 1;
    }
    ++next;  // one may be recorded and not acknowledged
    if (!std::filesystem::exists(path)) continue;
    // A reader comes first in every other round, the next writer in the others.
    if (round % 2 == 0 && std::filesystem::file_size(path) > 0) {
      const std::set<std::string> seen = recorded_variants(path, Store::Mode::read_only);
      ASSERT_TRUE(std::ranges::includes(seen, acknowledged)) << "round " << round;
    }
    const std::set<std::string> seen = recorded_variants(path, Store::Mode::read_write);
    ASSERT_TRUE(std::ranges::includes(seen, acknowledged)) << "round " << round;
    ASSERT_LE(seen.size(), acknowledged.size() + static_cast<std::size_t>(round) + 1);
    ASSERT_EQ(integrity(path), "ok") << "round " << round;
  }
  EXPECT_GT(acknowledged.size(), 30u);  // else the test tested little
}

TEST(StoreFault, KillsDuringCreationLeaveNothingOrAStore) {
  const TestFolder folder;
  std::mt19937 random(1);
  for (int round = 0; round < kKills; ++round) {
    const std::string path = folder.file(std::to_string(round) + ".db");
    killed_writer(path, 0, 0, std::chrono::microseconds(random() % 30'000));
    ASSERT_TRUE(Store::open(path, Store::Mode::read_write).ok()) << "round " << round;
    ASSERT_EQ(integrity(path), "ok") << "round " << round;
  }
}

// What a writer leaves that dies between writing its pages and its commit in DELETE mode, as on a
// network file system: pages of the transaction in the file and a journal that undoes them.
void leave_hot_journal(const std::string& path) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto database = Database::open(path, Database::Access::read_write).value();
    const Status status = database->execute(
        "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        " INSERT INTO operators (name) SELECT 'lost ' || i FROM n");
    ::_exit(status.ok() ? 0 : 1);  // without closing, so without rolling back
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(path + "-journal"));
}

// The outcome of a variant "kept", recorded.
OutcomeRecord record_kept(Store& store) {
  OutcomeRecord record = begin(store).value();
  record.variant = "kept";
  record.key.build_sha256 = "sha kept";
  EXPECT_TRUE(store.record(record).ok());
  return record;
}

TEST(StoreFault, AHalfWrittenTransactionIsRolledBackByWhoeverOpensNext) {
  for (const Store::Mode mode : {Store::Mode::read_only, Store::Mode::read_write}) {
    const TestFolder folder;
    const std::string path = folder.file("results.db");
    {
      Store store = Store::open(path, Store::Mode::read_write).value();
      record_kept(store);
    }
    leave_hot_journal(path);
    EXPECT_EQ(recorded_variants(path, mode), std::set<std::string>{"kept"});
    EXPECT_EQ(integrity(path), "ok");
    const auto database = Database::open(path, Database::Access::read_only).value();
    EXPECT_EQ(*database->read_integer("SELECT count(*) FROM operators"), 1);
  }
}

TEST(StoreFault, AFullDiskIsAnErrorAndTheOldRowsStay) {
  const TestFolder folder;
  const std::string path = folder.file("results.db");
  Store store = Store::open(path, Store::Mode::read_write).value();
  OutcomeRecord record = record_kept(store);
  // A limit on file sizes stands in for the full disk: SQLite's write fails in the same way.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64 << 10, 64 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Result<Store> full = Store::open(path, Store::Mode::read_write);
    if (!full.ok()) ::_exit(full.status().code() == StatusCode::io ? 0 : 1);
    record.message = std::string(1 << 20, 'x');
    record.variant = "lost";
    const Status status = full->record(record);
    ::_exit(status.code() == StatusCode::io ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(recorded_variants(path, Store::Mode::read_only), std::set<std::string>{"kept"});
}

}  // namespace
}  // namespace mgtune
