// Where a context's tuned rows come from: databases, tables and packs, whole, damaged and hostile.

#include "source/tuned_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/sha256.h"
#include "pack/pack.h"
#include "selection/pick_key.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TunedSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    device_.kind = DeviceKind::cuda;
    device_.name = "NVIDIA H200";
    device_.arch = "sm_90";
    device_.limits = {90, 132, 232448, 62914560};
    device_.memory_bytes = 150'000'000'000;
    device_.driver = "580.1, CUDA 13.0";
  }

  std::string write(const std::string& content, const std::string& name = "source") const {
    std::ofstream(folder_.file(name), std::ios::binary) << content;
    return folder_.file(name);
  }
  Result<TunedSource> read(const std::string& content) {
    return read_tuned_source(write(content), catalog_, device_);
  }
  void expect_refused(const std::string& content, StatusCode code, const std::string& message) {
    const Result<TunedSource> source = read(content);
    EXPECT_EQ(source.status().code(), code) << source.status().message();
    EXPECT_THAT(source.status().message(),
                AllOf(HasSubstr(folder_.file("source")), HasSubstr(message)));
  }

  std::string pack_of(const std::string& table) const {
    Pack pack;
    pack.compiler = "nvrtc libnvrtc.so.13.0.88 of 1 bytes";
    pack.cuda_version = 13000;
    pack.table = table;
    PackedBuild build;
    build.request = sha256_hex("request");
    build.build.key = sha256_hex("key");
    build.build.arch = "sm_90";
    build.build.binary = "cubin";
    build.build.sha256 = sha256_hex("cubin");
    pack.builds = {build};
    return encode_pack(pack).value();
  }

  // What a plan of bf16 rows of 1024 would know, about any number of rows.
  Result<std::shared_ptr<const Evidence>> evidence(TunedSource& source,
                                                   const std::string& op = "rmsnorm.forward") {
    const Binding binding = plan_binding(op);
    return evidence_for(binding, {{1, 65536}, {1, 0}}, gpu_record(device_), catalog_, source);
  }
  Binding plan_binding(const std::string& op = "rmsnorm.forward") {
    return *bind_static(**catalog_.find_operator(op), {{"hidden", "1024"}, {"T", "bf16"}});
  }
  PickKey key(const std::string& problem) {
    return key_of(
        *bind_problem(**catalog_.find_operator("rmsnorm.forward"), *parse_assignments(problem)));
  }

  // A database whose one pick of rmsnorm.forward is this variant.
  std::string database(const std::string& variant, const std::string& name = "results.db",
                       const PickKey& key = {}) const {
    const std::string path = folder_.file(name);
    Store store = *Store::open(path, Store::Mode::read_write);
    TunedRecord tuned;
    tuned.gpu = *store.gpu_id(gpu_record(device_));
    tuned.problem = *store.problem_id("rmsnorm.forward", "rows=64 hidden=1024 T=bf16", 1, 1);
    SweepRecord sweep;
    sweep.gpu = tuned.gpu;
    sweep.environment = *store.environment_id({"0.1.0", "nvrtc", "", "Linux"});
    tuned.sweep = *store.begin_sweep(sweep);
    tuned.variant = tuned.default_variant = variant;
    tuned.method = "rotating";
    tuned.key = key;
    tuned.median_ns = tuned.default_median_ns = 2500;
    EXPECT_TRUE(store.record_tuned(tuned).ok());
    return path;
  }

  void measure(const std::string& path, const std::string& problem,
               const std::string& variant) const {
    Store store = *Store::open(path, Store::Mode::read_write);
    SweepRecord sweep;
    sweep.gpu = *store.gpu_id(gpu_record(device_));
    sweep.environment = *store.environment_id({"0.1.0", "nvrtc", "", "Linux"});
    OutcomeRecord record;
    record.sweep = *store.begin_sweep(sweep);
    record.key.gpu = sweep.gpu;
    record.key.problem = *store.problem_id("rmsnorm.forward", problem, 1, 1);
    record.variant = variant;
    record.outcome = Outcome::wrong;
    ASSERT_TRUE(store.record(record).ok());
  }

  const TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  DeviceInfo device_;
};

constexpr char kVariant[] =
    "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=no_allocate "
    "STORE=streaming WEIGHT=early PDL=false";

TEST_F(TunedSourceTest, ATableIsReadWhateverItsName) {
  const Result<TunedSource> source = read("\n  " + rmsnorm_table());
  ASSERT_TRUE(source.ok()) << source.status().message();
  ASSERT_EQ(source->rows.size(), 1U);
  EXPECT_EQ(source->rows.front().tuned.variant, kVariant);
  EXPECT_EQ(source->rows.front().tuned.key, (PickKey{"rmsnorm.forward hidden=1024 T=bf16", 9}))
      << "for mgtune import";
  EXPECT_EQ(gpu_text(source->rows.front().gpu), gpu_text(gpu_record(device_)));
  EXPECT_THAT(source->text, HasSubstr("source, 1 tuned problem"));
  EXPECT_EQ(source->builds, nullptr);
}

TEST_F(TunedSourceTest, ATableOfAnotherDriverIsForThisGpu) {
  device_.memory_bytes = 149'960'835'072;
  const Result<TunedSource> pack = read(pack_of(rmsnorm_table()));
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_THAT(pack->notes, testing::IsEmpty());
  std::vector<TunedView> rows = pack->rows;
  rows[0].gpu = gpu_record(device_);
  add_rows(pack->rows, rows);
  EXPECT_EQ(rows.size(), 1U) << "the user's own pick serves";
}

TEST_F(TunedSourceTest, ATableOfStrangersIsRefused) {
  const std::string table = rmsnorm_table();
  const auto corrupt = StatusCode::corrupt;
  expect_refused(replaced(table, "\"VEC\": 8", "\"VEC\": 3"), corrupt, "/tables/0/picks/0");
  expect_refused(replaced(table, "\"VEC\": 8", "\"VEC\": \"8>(); system(\""), corrupt,
                 "/tables/0/picks/0/parameters/VEC");
  expect_refused(replaced(table, "\"design\": \"row\"", "\"design\": \"rows\""), corrupt, "rows");
  expect_refused(replaced(table, "hidden=1024", "hidden=1024x"), corrupt, "1024x");
  expect_refused(replaced(table, "\"VEC\": 8,", ""), corrupt, "VEC");
  expect_refused(replaced(table, "\"tie\"", "\"options\": \"-I/\", \"tie\""), corrupt, "options");
  expect_refused(replaced(table, "3874.5", "-1"), corrupt, "median_ns");
  expect_refused(table.substr(0, table.size() / 2), corrupt, "");
  expect_refused(replaced(table, "\"format\": 1", "\"format\": 2"), StatusCode::incompatible,
                 "format 2 is newer");
  expect_refused("{}", corrupt, "a tuned table");
  expect_refused("{\"format\": 1, \"tables\": 7}", corrupt, "/tables");
  expect_refused(std::string(100'000, '{'), corrupt, "");
}

TEST_F(TunedSourceTest, OperatorsOfOtherFamiliesArePassedOver) {
  const std::string table = replaced(rmsnorm_table(), "rmsnorm.forward", "somebody.elses");
  for (const std::string& content : {table, pack_of(table)}) {
    const Result<TunedSource> source = read(content);
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_TRUE(source->rows.empty());
    EXPECT_THAT(source->notes,
                testing::ElementsAre(folder_.file("source") +
                                     ": 1 tuned problem of somebody.elses is left out, because "
                                     "this mgtune does not know the operator"));
  }
}

// What failed in the user's own database is excluded from the rows of tables. If nobody can read
// the database, nobody may believe that nothing failed.
TEST_F(TunedSourceTest, AUsersDatabaseThatCannotBeReadIsNoted) {
  const Variable data("XDG_DATA_HOME", folder_.path());
  const Variable quiet("MGTUNE_QUIET", "1");
  Result<TunedSource> without = read(rmsnorm_table());
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_TRUE(evidence(*without).ok());
  EXPECT_THAT(without->notes, testing::IsEmpty()) << "a database that does not exist is empty";
  std::filesystem::create_directory(folder_.file("mgtune"));
  write("This is no database.", "mgtune/results.db");
  Result<TunedSource> source = read(rmsnorm_table());
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_TRUE(evidence(*source).ok());
  EXPECT_TRUE(evidence(*source, "rmsnorm.add_forward").ok());
  EXPECT_THAT(source->notes, testing::ElementsAre(AllOf(
                                 HasSubstr(folder_.file("mgtune/results.db") + " cannot be read ("),
                                 HasSubstr("), so variants that failed there are not excluded"))));
}

// A bit that flips in a table is either noticed or makes another table that is right.
TEST_F(TunedSourceTest, NoDamagedTableNamesWhatThereIsNot) {
  const std::string table = rmsnorm_table();
  const Operator& op = **catalog_.find_operator("rmsnorm.forward");
  for (std::size_t place = 0; place < table.size(); ++place) {
    std::string damaged = table;
    damaged[place] = static_cast<char>(damaged[place] ^ (1U << (place % 8)));
    const Result<TunedSource> source = read(damaged);
    if (source.ok()) {
      for (const TunedView& row : source->rows) {
        EXPECT_TRUE(parse_variant(op, row.tuned.variant).ok()) << damaged;
      }
    }
    EXPECT_FALSE(read(table.substr(0, place)).ok()) << place;
  }
}

TEST_F(TunedSourceTest, APackBringsRowsAndBuilds) {
  const Result<TunedSource> source = read(pack_of(rmsnorm_table()));
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(source->rows.size(), 1U);
  EXPECT_NE(source->builds, nullptr);
  EXPECT_TRUE(source->notes.empty());
  EXPECT_THAT(source->text, HasSubstr("source, 1 tuned problem and 1 build"));
}

TEST_F(TunedSourceTest, SkewIsNoted) {
  testing::internal::CaptureStderr();
  device_.driver = "550.54, CUDA 12.4";
  const Result<TunedSource> old_driver = read(pack_of(rmsnorm_table()));
  ASSERT_TRUE(old_driver.ok());
  EXPECT_EQ(old_driver->builds, nullptr);
  EXPECT_THAT(old_driver->notes, testing::ElementsAre(HasSubstr("the driver is of CUDA 12.4")));
  device_.driver = "580.1, CUDA 13.0";
  device_.limits.sm_count = 16;  // a MIG instance
  const Result<TunedSource> other_gpu = read(pack_of(rmsnorm_table()));
  ASSERT_TRUE(other_gpu.ok());
  EXPECT_EQ(other_gpu->rows.size(), 1U);
  EXPECT_NE(other_gpu->builds, nullptr);
  EXPECT_THAT(other_gpu->notes,
              testing::ElementsAre(HasSubstr("is for NVIDIA H200, not for this")));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("mgtune: warning: "));
}

TEST_F(TunedSourceTest, QuietIsQuiet) {
  const Variable quiet("MGTUNE_QUIET", "1");
  testing::internal::CaptureStderr();
  device_.driver = "535.1, CUDA 12.2";
  EXPECT_EQ(read(pack_of(rmsnorm_table()))->notes.size(), 1U);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(TunedSourceTest, APackWithAHostileTableIsRefused) {
  expect_refused(pack_of(replaced(rmsnorm_table(), "\"VEC\": 8", "\"VEC\": 3")),
                 StatusCode::corrupt, "VEC");
  expect_refused(pack_of("no table"), StatusCode::corrupt, "");
}

// A pack holds code, so nobody else may be able to put one in its place.
TEST_F(TunedSourceTest, APackThatOthersMayHaveWrittenIsRefused) {
  const std::string shared = folder_.file("shared");
  ASSERT_EQ(::mkdir(shared.c_str(), 0755), 0);
  const std::string path = shared + "/here.mgpack";
  ASSERT_EQ(::rename(write(pack_of(rmsnorm_table())).c_str(), path.c_str()), 0);
  const auto message = [&](const std::string& read) {
    const Status status = read_tuned_source(read, catalog_, device_).status();
    if (status.ok()) return std::string();
    EXPECT_EQ(status.code(), StatusCode::corrupt);
    return status.message();
  };
  for (const mode_t mode : {0666U, 0664U, 0646U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(message(path), HasSubstr("can be written by other users")) << mode;
    EXPECT_THAT(message(path), HasSubstr("chmod go-w")) << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(message(path), "");
  for (const mode_t mode : {0777U, 0775U}) {
    ASSERT_EQ(::chmod(shared.c_str(), mode), 0);
    EXPECT_THAT(message(path), HasSubstr("the folder of " + path)) << mode;
  }
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  EXPECT_EQ(message(path), "") << "with the sticky bit nobody exchanges the file of another user";
  ASSERT_EQ(::chmod(shared.c_str(), 0755), 0);
  const std::string link = folder_.file("link.mgpack");
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_THAT(message(link), HasSubstr("is a link"));
  if (::geteuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(message(path), HasSubstr("belongs to another user"));
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(shared.c_str(), 12345, 12345), 0);
  EXPECT_THAT(message(path), HasSubstr("the folder of " + path + " belongs to another user"));
}

TEST_F(TunedSourceTest, WhatIsNoFileIsRefusedAtOnce) {
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(read_tuned_source(fifo, catalog_, device_).ok());
  EXPECT_FALSE(read_tuned_source(folder_.path(), catalog_, device_).ok());
  EXPECT_EQ(read_tuned_source(folder_.file("none"), catalog_, device_).status().code(),
            StatusCode::not_found);
}

TEST_F(TunedSourceTest, ANamedDatabaseWithAForeignVariantIsRefused) {
  EXPECT_EQ(read_tuned_source(database(kVariant), catalog_, device_)->rows.size(), 1U);
  for (const std::string& hostile :
       {replaced(kVariant, "VEC=8", "VEC=3"), std::string("row>(); asm(\"exit\")"),
        replaced(kVariant, "VEC=8", "VEC=8>__nv_bfloat16")}) {
    const std::string path = database(hostile, "hostile.db");
    const Status status = open_tuned_sources(path, catalog_, device_).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt) << hostile;
    EXPECT_THAT(status.message(), HasSubstr("the pick of rmsnorm.forward rows=64"));
    const Variable named("MGTUNE_DB", path);
    EXPECT_EQ(open_tuned_sources("", catalog_, device_).status().code(), StatusCode::corrupt);
    std::filesystem::remove(path);
  }
}

constexpr char kPickedProblem[] = "rows=64 hidden=1024 T=bf16";

// A row with a key is read and judged when a plan needs it.
TEST_F(TunedSourceTest, APlanReadsItsRowsOfTheDatabase) {
  Result<TunedSource> source =
      open_tuned_sources(database(kVariant, "results.db", key(kPickedProblem)), catalog_, device_);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_TRUE(source->rows.empty());
  EXPECT_THAT(source_lines(*source, "rmsnorm.forward"), HasSubstr("results.db, 1 tuned problem\n"));
  const auto found = evidence(*source);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ((*found)->usable_picks(plan_binding(), gpu_record(device_)).size(), 1U);
  EXPECT_EQ((*found)->tuned.all().front().problem.text(), kPickedProblem);
  device_.name = "NVIDIA L4";
  EXPECT_TRUE((*evidence(*source))->tuned.all().empty());
}

TEST_F(TunedSourceTest, APlanRefusesAForeignVariantOfANamedDatabase) {
  const std::string hostile = replaced(kVariant, "VEC=8", "VEC=3");
  Result<TunedSource> named =
      open_tuned_sources(database(hostile, "hostile.db", key(kPickedProblem)), catalog_, device_);
  ASSERT_TRUE(named.ok()) << named.status().message();
  const Status refused = evidence(*named).status();
  EXPECT_EQ(refused.code(), StatusCode::corrupt);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("hostile.db: "), HasSubstr("the pick of rmsnorm.forward rows=64")));
  Result<TunedSource> of_another_version = open_tuned_sources(
      database(replaced(kVariant, " VEC=8", ""), "other.db", key(kPickedProblem)), catalog_,
      device_);
  for (int plan = 0; plan < 2; ++plan) {
    const auto found = evidence(*of_another_version);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_TRUE((*found)->tuned.all().empty());
    EXPECT_THAT(of_another_version->notes,
                testing::ElementsAre(HasSubstr("1 tuned problem that the operators do not offer")))
        << "each sentence once";
  }
}

// A sweep may run beside the program.
TEST_F(TunedSourceTest, APlanKnowsWhatWasWrittenSince) {
  const std::string path = database(kVariant, "results.db", key(kPickedProblem));
  Result<TunedSource> source = open_tuned_sources(path, catalog_, device_);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*evidence(*source))->tuned.all().size(), 1U);
  measure(path, kPickedProblem, kVariant);  // as wrong
  const auto after = evidence(*source);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_TRUE((*after)->tuned.all().empty());
  EXPECT_EQ((*after)->failed.of(gpu_record(device_), "rmsnorm.forward").size(), 1U);
  EXPECT_THAT(source->notes, testing::ElementsAre(HasSubstr("recorded as failed")));
}

// Rows without keys are of an older format. The row that a later sweep wrote counts.
TEST_F(TunedSourceTest, ARowWithAKeyReplacesThatOfTheSameProblemWithoutOne) {
  const std::string path = database(kVariant);
  Result<TunedSource> source = open_tuned_sources(path, catalog_, device_);
  ASSERT_TRUE(source.ok()) << source.status().message();
  const auto picks = [&] {
    const auto found = evidence(*source);
    std::vector<std::string> texts;
    for (const TunedEntry* entry : (*found)->usable_picks(plan_binding(), gpu_record(device_))) {
      texts.push_back(variant_text(*entry->problem.op, entry->variant));
    }
    return texts;
  };
  EXPECT_THAT(picks(), testing::ElementsAre(kVariant));
  const std::string better = replaced(kVariant, "THREADS_PER_ROW=64", "THREADS_PER_ROW=128");
  database(better, "results.db", key(kPickedProblem));
  EXPECT_THAT(picks(), testing::ElementsAre(better));
}

// A named database goes on serving when an operator gets or loses a design or a parameter.
TEST_F(TunedSourceTest, ANamedDatabaseLosesThePicksOfAnotherVersion) {
  for (const std::string& other :
       {replaced(kVariant, " VEC=8", ""), std::string(kVariant) + " NEW=1",
        std::string("gone THREADS=1")}) {
    const std::string path = database(other, "other.db");
    const Result<TunedSource> source = open_tuned_sources(path, catalog_, device_);
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_TRUE(source->rows.empty()) << other;
    ASSERT_EQ(source->notes.size(), 1U);
    EXPECT_THAT(source->notes.front(),
                HasSubstr("1 tuned problem that the operators do not offer"));
    std::filesystem::remove(path);
  }
}

// A program reads picks and failures, not what was measured.
TEST_F(TunedSourceTest, MeasurementsOfANamedDatabaseAreNotRead) {
  const std::string path = database(kVariant, "measured.db");
  measure(path, "rows=64 hidden=1024 T=f8", replaced(kVariant, "VEC=8", "VEC=4"));
  measure(path, "rows=64 hidden=1024 T=bf16", replaced(kVariant, "VEC=8", "VEC=8>();__trap();//"));
  const Result<TunedSource> source = read_tuned_source(path, catalog_, device_);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(source->rows.size(), 1U);
}

// They are installed with the library: an operator that changes takes its tables along.
TEST_F(TunedSourceTest, TheTablesThatShipAreOfTodaysOperators) {
  std::size_t tables = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source_path("results"))) {
    if (!file.path().string().ends_with(".tuned.json")) continue;
    const Result<TunedSource> source = read_tuned_source(file.path(), catalog_, device_);
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_FALSE(source->rows.empty()) << file.path();
    EXPECT_TRUE(source->notes.empty()) << file.path();
    ++tables;
  }
  EXPECT_GE(tables, 7U);
}

TEST_F(TunedSourceTest, StaleRowsOfTheUsersOwnAreLeftOut) {
  const Variable none("MGTUNE_DB", "");
  const Variable data("XDG_DATA_HOME", folder_.path());
  std::filesystem::create_directory(folder_.file("mgtune"));
  database(replaced(kVariant, "VEC=8", "VEC=3"), "mgtune/results.db");
  testing::internal::CaptureStderr();
  const Result<TunedSource> source = open_tuned_sources("", catalog_, device_);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_TRUE(source->rows.empty());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("1 tuned problem that the operators"));
}

TEST_F(TunedSourceTest, TheFirstSourceOfAProblemCounts) {
  std::vector<TunedView> rows = read(rmsnorm_table())->rows;
  std::vector<TunedView> more = rows;
  more.front().tuned.median_ns = 1;
  more.push_back(more.front());
  more.back().problem = "rows=1 hidden=1024 T=bf16";
  more.push_back(more.front());
  more.back().gpu.model = "NVIDIA L4";
  add_rows(more, rows);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].tuned.median_ns, 3874.5);
  EXPECT_EQ(rows[1].tuned.gpu, rows[0].tuned.gpu);
  EXPECT_NE(rows[2].tuned.gpu, rows[0].tuned.gpu);
}

}  // namespace
}  // namespace mgtune
