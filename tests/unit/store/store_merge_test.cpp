// What other files have and this one has not; what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "store/store.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// What a sweep of one problem leaves.
struct Recorded {
  std::string problem = "rows=4 hidden=64 T=f32";
  std::string started_at = "2026-11-21T09:00:00Z";
  std::string finished_at = "2026-11-21T09:10:00Z";
  std::string pick = "row VEC=8";
  GpuRecord gpu = kH200Record;
  EnvironmentRecord environment = kEnvironment;
  std::string command = "mgtune sweep --kernel rmsnorm";
  std::string strategy = "exhaustive";
  double median_ns = 100.5;  // of the pick
};

class StoreMergeTest : public StoreTest {
 protected:
  static void fill(Store& store, const Recorded& what) {
    SweepRecord sweep;
    sweep.gpu = *store.gpu_id(what.gpu);
    sweep.environment = *store.environment_id(what.environment);
    sweep.command = what.command;
    sweep.strategy = what.strategy;
    sweep.started_at = what.started_at;
    const std::int64_t id = *store.begin_sweep(sweep);
    const std::int64_t problem = *store.problem_id("rmsnorm.forward", what.problem, 1e3, 2);
    for (const std::string& variant : {std::string("row VEC=4"), std::string("row VEC=8")}) {
      OutcomeRecord row;
      row.sweep = id;
      row.key = {sweep.gpu, problem, "sha " + variant, "launch", "reference"};
      row.variant = variant;
      row.build = {{40, 0, 16}, "key " + variant, "sha " + variant, "sm_90", "a warning"};
      row.check = CheckRecord{Outcome::ok, "", 1e-7, 2e-6};
      row.measurement = MeasurementRecord();
      row.measurement->method = "rotating";
      row.measurement->median_ns = 100.5;
      row.measurement->samples = 31;
      ASSERT_TRUE(store.record(row).ok());
      ASSERT_TRUE(store.record_counters(id, row.key, variant, kCounters).ok());
    }
    ASSERT_TRUE(
        store.record_ceiling(id, sweep.gpu, {"copy", "rotating", 1000, 4e12, "x", {}}).ok());
    FinalRecord final;
    final.sweep = id;
    final.gpu = sweep.gpu;
    final.problem = problem;
    final.method = "rotating";
    final.noise_floor = 0.004;
    FinalistRecord& finalist = final.finalists.emplace_back();
    finalist.variant = what.pick;
    finalist.samples_ns = {100, 101};
    ASSERT_TRUE(store.record_final(final).ok());
    TunedRecord tuned;
    tuned.sweep = id;
    tuned.gpu = sweep.gpu;
    tuned.problem = problem;
    tuned.method = "rotating";
    tuned.variant = what.pick;
    tuned.default_variant = "row VEC=4";
    tuned.median_ns = what.median_ns;
    ASSERT_TRUE(store.record_tuned(tuned).ok());
    if (what.finished_at.empty()) return;
    ASSERT_TRUE(store.finish_sweep(id, what.finished_at).ok());
  }

  // A closed file with that in it.
  std::string file(const std::string& name, const std::vector<Recorded>& recorded) {
    Store store = Store::open(folder_.file(name), Store::Mode::read_write).value();
    for (const Recorded& what : recorded) fill(store, what);
    return folder_.file(name);
  }

  Result<MergeCounts> merge(const std::vector<std::string>& files) {
    Store store = open();
    return store.merge(files);
  }

  static std::int64_t peak_kilobytes() {
    rusage usage{};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : -1;
  }

  // Every row of every table, in order.
  std::vector<std::string> rows() const {
    const auto database = Database::open(path_, Database::Access::read_only).value();
    std::vector<std::string> all;
    for (const char* table :
         {"gpus", "environments", "operators", "problems", "variants", "builds", "sweeps", "checks",
          "measurements", "ceilings", "finals", "finalists", "counters", "outcomes", "tuned"}) {
      std::string columns;
      Statement names = database->query("SELECT name FROM pragma_table_info(?)", table).value();
      while (*names.step()) columns += " || quote(\"" + names.text(0) + "\")";
      Statement row =
          database->query("SELECT " + columns.substr(4) + " FROM " + table + " ORDER BY rowid")
              .value();
      while (*row.step()) all.push_back(std::string(table) + " " + row.text(0));
    }
    return all;
  }

  static std::size_t count(const std::vector<std::string>& rows, const std::string& table) {
    return static_cast<std::size_t>(std::ranges::count_if(
        rows, [&](const std::string& row) { return row.starts_with(table + " "); }));
  }

  static inline const std::vector<CounterRecord> kCounters = {{"dram_read_bytes", 7},
                                                              {"l2_bytes", 9}};
};

TEST_F(StoreMergeTest, EverythingOfEveryShardIsThere) {
  const std::string a = file("a.db", {{.problem = "rows=1 hidden=64 T=f32"}});
  const std::string b =
      file("b.db", {{.problem = "rows=2 hidden=64 T=f32"},
                    {.problem = "rows=3 hidden=64 T=f32", .started_at = "2026-11-21T10:00:00Z"}});
  const Result<MergeCounts> counts = merge({a, b});
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(counts->outcomes, 6);
  EXPECT_EQ(counts->picks, 3);
  const std::vector<std::string> all = rows();
  EXPECT_EQ(count(all, "gpus"), 1U);
  EXPECT_EQ(count(all, "environments"), 1U);
  EXPECT_EQ(count(all, "variants"), 2U);
  EXPECT_EQ(count(all, "builds"), 2U);
  EXPECT_EQ(count(all, "problems"), 3U);
  EXPECT_EQ(count(all, "checks"), 6U);
  EXPECT_EQ(count(all, "measurements"), 6U);
  EXPECT_EQ(count(all, "outcomes"), 6U);
  EXPECT_EQ(count(all, "finals"), 3U);
  EXPECT_EQ(count(all, "finalists"), 3U);
  EXPECT_EQ(count(all, "counters"), 12U);
  EXPECT_EQ(count(all, "tuned"), 3U);

  Store store = open();
  for (const OutcomeView& row : *store.outcomes()) {
    EXPECT_EQ(gpu_text(row.gpu), gpu_text(kH200Record));
    EXPECT_EQ(row.build_sha256, "sha " + row.variant);
    EXPECT_EQ(row.registers, 40);
    ASSERT_TRUE(row.check && row.measurement);
    EXPECT_EQ(row.measurement->median_ns, 100.5);
  }
  for (const FinalView& view : *store.finals()) {
    EXPECT_EQ(view.final.finalists.at(0).samples_ns, (std::vector<double>{100, 101}));
  }
  for (const CounterView& view : *store.counters()) EXPECT_EQ(view.counters, kCounters);
  for (const TunedView& view : *store.tuned()) EXPECT_EQ(view.tuned.variant, "row VEC=8");
}

TEST_F(StoreMergeTest, OneGpuWithTwoSizesOfMemoryIsMergedIntoOne) {
  Recorded newer{.started_at = "2026-11-22T09:00:00Z", .pick = "row VEC=4"};
  newer.gpu.memory_bytes = 150'754'820'096;
  const std::string a = file("a.db", {{}});
  const std::string b = file("b.db", {newer});
  ASSERT_TRUE(merge({a, b}).ok());
  const std::vector<std::string> all = rows();
  EXPECT_EQ(count(all, "gpus"), 1U);
  EXPECT_EQ(count(all, "sweeps"), 2U);
  const std::vector<TunedView> picks = open().tuned().value();
  ASSERT_EQ(picks.size(), 1U);
  EXPECT_EQ(picks[0].tuned.variant, "row VEC=4") << "the newer one";

  newer.environment.driver = "another";
  const Result<MergeCounts> mixed = merge({file("c.db", {newer})});
  EXPECT_EQ(mixed.status().code(), StatusCode::incompatible) << "it is the same GPU";
}

TEST_F(StoreMergeTest, ASecondTimeNothingChanges) {
  const std::string a = file("a.db", {{.problem = "rows=1 hidden=64 T=f32"}});
  const std::string b = file("b.db", {{.problem = "rows=2 hidden=64 T=f32"}, {}});
  ASSERT_TRUE(merge({a, b}).ok());
  const std::vector<std::string> before = rows();
  for (const std::vector<std::string>& files : {std::vector{a, b}, {b, a}, {a}, {b, b}}) {
    const Result<MergeCounts> again = merge(files);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->sweeps + again->outcomes + again->picks, 0);
    EXPECT_EQ(rows(), before);
  }
}

TEST_F(StoreMergeTest, TheOrderOfTheFilesDecidesNothing) {
  const std::string a = file("a.db", {{.started_at = "2026-11-21T09:00:00Z"}});
  const std::string b = file("b.db", {{.started_at = "2026-11-21T10:00:00Z"}});
  ASSERT_TRUE(merge({b, a}).ok());
  const std::vector<std::string> first = rows();
  ASSERT_TRUE(FileSystem::real().remove(path_).ok());
  ASSERT_TRUE(merge({a, b}).ok());
  EXPECT_EQ(rows(), first);
}

TEST_F(StoreMergeTest, OfTwoPicksThatOfTheLaterSweepHolds) {
  const std::string old = file("old.db", {{.pick = "row VEC=4"}});
  const std::string late =
      file("late.db", {{.started_at = "2026-11-22T09:00:00Z", .pick = "row VEC=8"}});
  ASSERT_TRUE(merge({old}).ok());
  EXPECT_EQ(merge({late})->picks, 1);
  EXPECT_EQ(open().tuned()->at(0).tuned.variant, "row VEC=8");
  EXPECT_EQ(merge({old})->picks, 0);
  EXPECT_EQ(open().tuned()->at(0).tuned.variant, "row VEC=8");
}

// A file of an older format has picks without keys, and its pick may be the later one.
TEST_F(StoreMergeTest, APickKeepsItsKey) {
  const std::string keyed = file("keyed.db", {{.pick = "row VEC=4"}});
  const std::string older =
      file("older.db", {{.started_at = "2026-11-22T09:00:00Z", .pick = "row VEC=8"}});
  const auto database = Database::open(keyed, Database::Access::read_write).value();
  ASSERT_TRUE(database->execute("UPDATE tuned SET kind = 'a kind', size = 8").ok());
  ASSERT_TRUE(merge({keyed}).ok());
  ASSERT_TRUE(merge({older}).ok());
  EXPECT_EQ(open().tuned()->at(0).tuned.variant, "row VEC=8");
  EXPECT_EQ(open().tuned()->at(0).tuned.key, (PickKey{"a kind", 8}));
}

// A shard's pick is the best of a part, whenever it began. A final decides.
TEST_F(StoreMergeTest, OfTwoPicksOfShardsTheFasterOneHoldsUntilAFinalDecides) {
  const std::string fast =
      file("fast.db",
           {{.pick = "row VEC=4", .command = "mgtune sweep rmsnorm --shard 1/2", .median_ns = 90}});
  const std::string slow = file("slow.db", {{.started_at = "2026-11-22T09:00:00Z",
                                             .pick = "row VEC=8",
                                             .command = "mgtune sweep rmsnorm --shard 2/2"}});
  for (const std::vector<std::string>& files : {std::vector{fast, slow}, {slow}, {fast}}) {
    ASSERT_TRUE(merge(files).ok());
    EXPECT_EQ(open().tuned()->at(0).tuned.variant, "row VEC=4");
  }
  EXPECT_EQ(merge({slow, fast})->undecided, 1);
  const std::string final = file("final.db", {{.started_at = "2026-11-23T09:00:00Z",
                                               .pick = "row VEC=8",
                                               .command = "mgtune sweep rmsnorm --finals",
                                               .strategy = std::string(kFinalsStrategy)}});
  ASSERT_TRUE(merge({final}).ok());
  EXPECT_EQ(merge({slow, fast})->undecided, 0);
  EXPECT_EQ(open().tuned()->at(0).tuned.variant, "row VEC=8");
}

// One file is open at a time, so 300 files take no more memory and descriptors than a few.
TEST_F(StoreMergeTest, HundredsOfFilesTakeBoundedMemoryAndDescriptors) {
  constexpr int kFiles = 300;
  constexpr std::int64_t kMoreKilobytes = 16 << 10;
  const std::string first = file("part-0.db", {{.problem = "rows=0 hidden=64 T=f32"}});
  std::vector<std::string> files = {first};
  for (int i = 1; i < kFiles; ++i) {
    files.push_back(folder_.file("part-" + std::to_string(i) + ".db"));
    std::filesystem::copy(first, files.back());
    const auto database = Database::open(files.back(), Database::Access::read_write).value();
    ASSERT_TRUE(database
                    ->execute("PRAGMA synchronous = OFF; UPDATE problems SET text = 'rows=" +
                              std::to_string(i) + " hidden=64 T=f32'")
                    .ok());
  }
  ASSERT_TRUE(merge({files.begin(), files.begin() + 10}).ok());  // what the first merge allocates
  const std::int64_t before = peak_kilobytes();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Result<MergeCounts> counts = merge(files);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(counts->picks, kFiles - 10);
  EXPECT_EQ(open().tuned()->size(), static_cast<std::size_t>(kFiles));
  if (std::string_view(MGTUNE_SANITIZE).empty()) {  // ASan keeps what is freed
    EXPECT_LE(peak_kilobytes() - before, kMoreKilobytes);
  }
}

TEST_F(StoreMergeTest, ASweepThatStillRanGetsItsEnd) {
  const std::string path = file("a.db", {{.finished_at = ""}});
  ASSERT_TRUE(merge({path}).ok());
  {
    Store source = Store::open(path, Store::Mode::read_write).value();
    ASSERT_TRUE(source.finish_sweep(1, "2026-11-21T09:20:00Z").ok());
  }
  EXPECT_EQ(merge({path})->sweeps, 0);
  const std::vector<SweepView> sweeps = *open().sweeps();
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].sweep.finished_at, "2026-11-21T09:20:00Z");
}

TEST_F(StoreMergeTest, AnotherEnvironmentOfTheSameGpuIsRefusedAndBothFilesNamed) {
  const std::string a = file("a.db", {{.problem = "rows=1 hidden=64 T=f32"}});
  struct Case {
    const char* what;
    EnvironmentRecord environment;
  };
  EnvironmentRecord driver = kEnvironment, compiler = kEnvironment, version = kEnvironment;
  driver.driver = "590.1";
  compiler.compiler = "nvrtc 13.1";
  version.mgtune_version = "0.2.0";
  for (const Case& other :
       {Case{"driver '' in ", driver}, Case{"compiler 'g++ 12.2.0' in ", compiler},
        Case{"mgtune '0.1.0' in ", version}}) {
    const std::string b = folder_.file("b.db");
    static_cast<void>(FileSystem::real().remove(b));
    file("b.db", {{.started_at = "2026-11-22T09:00:00Z", .environment = other.environment}});
    const Status status = merge({a, b}).status();
    EXPECT_EQ(status.code(), StatusCode::incompatible);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("NVIDIA H200"), HasSubstr(other.what + a), HasSubstr(b)));
    EXPECT_THAT(rows(), IsEmpty());
  }
}

TEST_F(StoreMergeTest, AnotherGpuMayHaveAnotherEnvironmentAndAnotherSystemIsNone) {
  EnvironmentRecord other = kEnvironment;
  other.driver = "590.1";
  EnvironmentRecord host = kEnvironment;
  host.system = "another node";
  const std::string a = file("a.db", {{}});
  const std::string b = file("b.db", {{.gpu = kCpuRecord, .environment = other}});
  const std::string c = file("c.db", {{.problem = "rows=9 hidden=64 T=f32", .environment = host}});
  const Result<MergeCounts> counts = merge({a, b, c});
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(counts->picks, 3);
}

TEST_F(StoreMergeTest, WhatThisStoreWasBeforeIsItsHistory) {
  EnvironmentRecord old = kEnvironment;
  old.driver = "500";
  file("results.db", {{.started_at = "2026-01-01T09:00:00Z", .environment = old},
                      {.started_at = "2026-11-20T09:00:00Z"}});
  EXPECT_TRUE(merge({file("a.db", {{}})}).ok());
  const std::string late =
      file("b.db", {{.started_at = "2026-12-01T09:00:00Z", .environment = old}});
  EXPECT_EQ(merge({late}).status().code(), StatusCode::incompatible);
}

TEST_F(StoreMergeTest, RowsThatNobodyCanReadAreCorruptAndAddNothing) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"PRAGMA foreign_keys = OFF; DELETE FROM problems", "refers to a row that is not there"},
      {"UPDATE outcomes SET outcome = 'evil'", "evil"},
      {"UPDATE finalists SET samples_ns = '1e400 nan x'", "samples that are no array of numbers"}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::string a = file(std::to_string(i) + ".db", {{}});
    {
      const auto database = Database::open(a, Database::Access::read_write).value();
      ASSERT_TRUE(database->execute(changes[i].first).ok());
    }
    const Status status = merge({a}).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(a), HasSubstr(changes[i].second)));
    EXPECT_THAT(rows(), IsEmpty());
  }
}

}  // namespace
}  // namespace mgtune
