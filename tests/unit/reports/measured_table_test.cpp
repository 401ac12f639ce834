// Every kind of file that mgtune compare reads, and what it says of one that is none of them.

#include "compare/measured_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "document/report_json.h"
#include "store/schema.h"
#include "tests/helpers/made_up_report.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class MeasuredTableTest : public StoreTest {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }

  MeasuredTable read(const std::string& path) {
    Result<MeasuredTable> table = read_measured_table(path);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? *std::move(table) : MeasuredTable();
  }

  MeasuredTable benchmarks(const std::string& entries) {
    return read(write("b.json",
                      R"({"context": {"host_name": "builder"}, "benchmarks": [)" + entries + "]}"));
  }

  void expect_refused(const std::string& text, StatusCode code, const std::string& message) {
    const std::string path = write("bad.json", text);
    const Status status = read_measured_table(path).status();
    EXPECT_EQ(status.code(), code) << text;
    EXPECT_THAT(status.message(), StartsWith(path)) << text;
    EXPECT_THAT(status.message(), HasSubstr(message)) << text;
  }
};

TEST_F(MeasuredTableTest, AFinalistsTimeIsThatOfTheFinalFromAStoreAndFromItsExport) {
  Store store = open();
  OutcomeRecord record = outcome_in(store, kH200Record);
  record.measurement->method = "rotating";
  ASSERT_TRUE(store.record(record).ok());
  TunedRecord tuned;
  tuned.sweep = record.sweep;
  tuned.gpu = record.key.gpu;
  tuned.problem = record.key.problem;
  tuned.variant = record.variant;
  tuned.build_sha256 = record.key.build_sha256;
  tuned.method = "rotating";
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  FinalRecord final;
  final.sweep = record.sweep;
  final.gpu = record.key.gpu;
  final.problem = record.key.problem;
  final.method = "rotating";
  final.finalists = {{record.variant,
                      record.key.build_sha256,
                      record.key.launch_hash,
                      99.5,
                      99.4,
                      99.6,
                      1,
                      1,
                      1,
                      true,
                      {99.5}}};
  ASSERT_TRUE(store.record_final(final).ok());
  const std::string exported =
      write("variants.json", variants_json(read_report_model(store).value()));
  for (const std::string& path : {path_, exported}) {
    const MeasuredTable table = read(path);
    ASSERT_THAT(table.rows, SizeIs(1)) << path;
    EXPECT_EQ(table.rows[0].time.median_ns, 99.5) << path;
    EXPECT_EQ(table.rows[0].time.low_ns, 99.4) << path;
    EXPECT_EQ(table.rows[0].time.high_ns, 99.6) << path;
  }
}

TEST_F(MeasuredTableTest, AStoreGivesWhatItsVariantsTookAndItsNoiseFloors) {
  {
    Store store = open();
    OutcomeRecord record = outcome_in(store, kH200Record);
    record.measurement->method = "rotating";
    ASSERT_TRUE(store.record(record).ok());
    FinalRecord final;
    final.sweep = record.sweep;
    final.gpu = record.key.gpu;
    final.problem = record.key.problem;
    final.method = "rotating";
    final.noise_floor = 0.004;
    ASSERT_TRUE(store.record_final(final).ok());

    record.variant = "row VEC=4";
    record.key.build_sha256 = "sha-2";
    record.outcome = record.measurement->outcome = Outcome::raced_out;
    record.measurement->median_low_ns = record.measurement->median_high_ns = 0;
    ASSERT_TRUE(store.record(record).ok());

    record.variant = "row VEC=2";
    record.key.build_sha256 = "sha-3";
    record.outcome = record.check->outcome = Outcome::wrong;
    record.measurement.reset();
    ASSERT_TRUE(store.record(record).ok());
  }
  const MeasuredTable table = read(path_);
  EXPECT_EQ(table.kind, "database");
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[0].name.op, "rmsnorm.forward");
  EXPECT_EQ(table.rows[0].name.problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(table.rows[0].name.variant, "row VEC=8");
  EXPECT_EQ(table.rows[0].name.device, "NVIDIA H200");
  EXPECT_THAT(table.rows[0].name.device_details, HasSubstr("132 SMs"));
  EXPECT_EQ(table.rows[0].name.method, "rotating");
  EXPECT_EQ(table.rows[0].clock, Clock::gpu);
  EXPECT_EQ(table.rows[0].time.median_ns, 100.5);
  EXPECT_EQ(table.rows[0].time.low_ns, 100);
  EXPECT_EQ(table.rows[0].time.high_ns, 101);
  EXPECT_EQ(table.rows[0].time.noise_floor, 0.004);
  EXPECT_FALSE(table.rows[0].time.cut_short);
  // Of this one only the quartiles are known: 99 and 102 of 31 samples.
  EXPECT_TRUE(table.rows[1].time.cut_short);
  EXPECT_NEAR(table.rows[1].time.high_ns, 100.5 + 1.57 * 3 / 5.568, 1e-3);
  ASSERT_THAT(table.untimed, SizeIs(1));
  EXPECT_EQ(table.untimed[0].reason, "wrong");
}

TEST_F(MeasuredTableTest, AnOlderStoreIsReadAndStaysAsItIs) {
  {
    const auto database = Database::open(path_, Database::Access::create).value();
    ASSERT_TRUE(migrate(*database, schema_steps().first(1)).ok());
    ASSERT_TRUE(
        database
            ->execute("INSERT INTO gpus VALUES (1, 'NVIDIA H200', 'sm_90', 132, 6, 7, 8, '', 0);"
                      "INSERT INTO environments VALUES (1, '0.1.0', 'NVRTC', '580', 'Debian');"
                      "INSERT INTO operators VALUES (1, 'rmsnorm.forward');"
                      "INSERT INTO problems VALUES (1, 1, 'rows=1', 1000, 5);"
                      "INSERT INTO variants VALUES (1, 1, 'row VEC=8');"
                      "INSERT INTO sweeps VALUES (1, 1, 1, 'mgtune sweep', 'random', '',"
                      " '2026-11-20T08:00:00Z', '');"
                      "INSERT INTO measurements VALUES (1, 1, 1, 1, 'sha', 'launch',"
                      " 'rotating', 'ok', '', 100, 99, 101, 98, 20, '');"
                      "INSERT INTO outcomes (sweep, problem, variant, outcome, message,"
                      " build_sha256, measurement) VALUES (1, 1, 1, 'ok', '', 'sha', 1)")
            .ok());
  }
  const std::string before = content();
  const MeasuredTable table = read(path_);
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_EQ(table.rows[0].time.median_ns, 100);
  EXPECT_EQ(content(), before);
}

TEST_F(MeasuredTableTest, ExportsOfOursGiveWhatTheyHave) {
  const ReportModel model = make_report_model(made_up_rows());
  const MeasuredTable variants = read(write("variants.json", variants_json(model)));
  EXPECT_EQ(variants.kind, "variants");
  EXPECT_THAT(variants.rows, SizeIs(7));
  EXPECT_THAT(variants.untimed, SizeIs(3));
  EXPECT_EQ(variants.rows[0].name.device, "NVIDIA H200");
  EXPECT_EQ(variants.rows[0].name.method, "rotating");
  EXPECT_GT(variants.rows[0].time.high_ns, variants.rows[0].time.median_ns);
  EXPECT_TRUE(variants.rows.back().name.emulation);
  EXPECT_EQ(variants.rows.back().clock, Clock::host);

  // A pick, and its default where that is another variant.
  const MeasuredTable picks = read(write("picks.json", picks_json(model)));
  ASSERT_THAT(picks.rows, SizeIs(5));
  EXPECT_EQ(picks.rows[1].name.variant, kFastVariant);
  EXPECT_EQ(picks.rows[1].time.high_ns, 0);  // not known
  EXPECT_EQ(picks.rows[2].name.variant, kDefaultVariant);
  EXPECT_EQ(picks.rows[2].time.median_ns, 30000);

  const std::string sweeps = R"({"format": 1, "sweeps": [{"device": "GPU-1", "picks": )" +
                             picks_json(model).substr(picks_json(model).find('[')) + "]}";
  EXPECT_THAT(read(write("sweeps.json", sweeps)).rows, SizeIs(5));
}

TEST_F(MeasuredTableTest, AnExportedIntervalIsTaken) {
  const MeasuredTable table = read(write("v.json", R"({"format": 1, "variants": [
    {"gpu": "NVIDIA H200", "emulation": false, "operator": "a.b", "problem": "n=1", "variant": "v",
     "outcome": "ok", "measurement": {"method": "graph", "median_ns": 100, "q1_ns": 90,
     "q3_ns": 110, "samples": 4, "median_low_ns": 98, "median_high_ns": 103}},
    {"gpu": "NVIDIA H200", "emulation": false, "operator": "a.b", "problem": "n=1", "variant": "w",
     "outcome": "ok", "measurement": {"method": "graph", "median_ns": null}}]})"));
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_EQ(table.rows[0].time.low_ns, 98);
  EXPECT_EQ(table.rows[0].time.high_ns, 103);
  ASSERT_THAT(table.untimed, SizeIs(1));
  EXPECT_EQ(table.untimed[0].reason, "no time");
}

TEST_F(MeasuredTableTest, RepetitionsOfABenchmarkAreOneRow) {
  std::string entries;
  for (const char* time : {"10", "11", "12", "10.5", "11.5"}) {
    entries += std::string(entries.empty() ? "" : ",") +
               R"({"name": "Parse/8", "run_name": "Parse/8", "run_type": "iteration",)"
               R"("repetitions": 5, "iterations": 100, "real_time": 99, "cpu_time": )" +
               time + R"(, "time_unit": "us"})";
  }
  entries += R"(,{"name": "Parse/8_mean", "run_name": "Parse/8", "run_type": "aggregate",
      "aggregate_name": "mean", "iterations": 5, "real_time": 99, "cpu_time": 11, "time_unit": "us"})";
  const MeasuredTable table = benchmarks(entries);
  EXPECT_EQ(table.host, "builder");
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_EQ(table.rows[0].name.variant, "Parse/8");
  EXPECT_EQ(table.rows[0].name.method, "cpu time");
  EXPECT_EQ(table.rows[0].clock, Clock::host);
  EXPECT_DOUBLE_EQ(table.rows[0].time.median_ns, 11000);
  // 1.2533 * t(4) * 790.57 / sqrt(5), t(4) = 2.776
  EXPECT_NEAR(table.rows[0].time.high_ns, 11000 + 1230, 1);
}

TEST_F(MeasuredTableTest, AggregatesAloneWillDo) {
  const auto aggregate = [](const char* name, const char* time) {
    return std::string(R"({"name": "Write_)") + name +
           R"(/real_time", "run_name": "Write/real_time", "run_type": "aggregate", "repetitions": 9,)"
           R"("aggregate_name": ")" +
           name + R"(", "real_time": )" + time + R"(, "cpu_time": 1, "time_unit": "ms"})";
  };
  const MeasuredTable table =
      benchmarks(aggregate("mean", "2.1") + "," + aggregate("median", "2") + "," +
                 aggregate("stddev", "0.03") + "," + aggregate("cv", "0.015"));
  ASSERT_THAT(table.rows, SizeIs(1));
  EXPECT_EQ(table.rows[0].name.method, "real time");
  EXPECT_DOUBLE_EQ(table.rows[0].time.median_ns, 2e6);
  EXPECT_NEAR(table.rows[0].time.low_ns, 2e6 - 1.2533 * 2.306 * 0.01e6, 1);
}

TEST_F(MeasuredTableTest, ALoneRunHasNoIntervalAndAFailedOneNoTime) {
  const MeasuredTable table = benchmarks(
      R"({"name": "A", "iterations": 7, "real_time": 3, "cpu_time": 2},
         {"name": "B", "run_name": "B", "run_type": "iteration", "error_occurred": true,
          "error_message": "a launch failed", "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
         {"name": "C/manual_time", "run_name": "C/manual_time", "run_type": "iteration",
          "real_time": 3, "cpu_time": 2, "time_unit": "s"})");
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[0].time.median_ns, 2);
  EXPECT_EQ(table.rows[0].time.high_ns, 0);
  EXPECT_EQ(table.rows[1].time.median_ns, 3e9);
  EXPECT_EQ(table.rows[1].name.method, "manual time");
  ASSERT_THAT(table.untimed, SizeIs(1));
  EXPECT_EQ(table.untimed[0].reason, "a launch failed");
}

TEST_F(MeasuredTableTest, ABusyHostHasANoiseFloor) {
  const auto on_host = [&](const std::string& context) {
    return read(write("b.json", R"({"context": )" + context +
                                    R"(, "benchmarks": [{"name": "A", "cpu_time": 2}]})"));
  };
  const MeasuredTable busy = on_host(R"({"num_cpus": 2, "load_avg": [14.9, 13, 10]})");
  EXPECT_EQ(busy.rows.at(0).time.noise_floor, 0.25);
  EXPECT_THAT(busy.caution, HasSubstr("more to do than it has CPUs"));
  const MeasuredTable quiet = on_host(R"({"num_cpus": 2, "load_avg": [1.2, 13, 10]})");
  EXPECT_EQ(quiet.rows.at(0).time.noise_floor, 0);
  EXPECT_EQ(quiet.caution, "");
  EXPECT_EQ(on_host(R"({"num_cpus": 2, "load_avg": []})").caution, "");
}

TEST_F(MeasuredTableTest, WhatIsNoneOfThemIsNamedWithThePlace) {
  constexpr auto kCorrupt = StatusCode::corrupt;
  expect_refused("", kCorrupt, "neither a database of results nor JSON");
  expect_refused("# Notes", kCorrupt, "line 1");
  expect_refused(R"({"format": 1, "picks": [)", kCorrupt, "line 1");
  expect_refused("{}", kCorrupt, "nor Google Benchmark's JSON");
  expect_refused("[]", kCorrupt, "nor Google Benchmark's JSON");
  expect_refused("7", kCorrupt, "nor Google Benchmark's JSON");
  expect_refused(R"({"format": 2, "picks": []})", StatusCode::incompatible, "this mgtune reads 1");
  expect_refused(R"({"format": 1, "devices": []})", kCorrupt, "mgtune show variants --json");
  expect_refused(R"({"format": 1, "picks": 3})", kCorrupt, "/picks: expected array, got 3");
  expect_refused(R"({"format": 1, "picks": [7]})", kCorrupt, "/picks/0");
  expect_refused(R"({"format": 1, "picks": [{"operator": "a.b"}]})", kCorrupt,
                 "/picks/0: has no \"problem\"");
  expect_refused(R"({"format": 1, "sweeps": [{}]})", kCorrupt, "/sweeps/0: has no \"picks\"");
  expect_refused(R"({"format": 1, "variants": [{"gpu": "x", "emulation": 1}]})", kCorrupt,
                 "/variants/0");
  expect_refused(R"({"benchmarks": {}})", kCorrupt, "/benchmarks: expected array");
  expect_refused(R"({"context": {"num_cpus": 1, "load_avg": 3}, "benchmarks": []})", kCorrupt,
                 "/context/load_avg: expected array");
  expect_refused(R"({"benchmarks": [{}]})", kCorrupt, "/benchmarks/0: has no \"name\"");
  expect_refused(R"({"benchmarks": [{"name": "A"}]})", kCorrupt, "has no \"cpu_time\"");
  expect_refused(R"({"benchmarks": [{"name": "A", "cpu_time": "1"}]})", kCorrupt,
                 "/benchmarks/0/cpu_time: expected number");
  expect_refused(R"({"benchmarks": [{"name": "A", "cpu_time": -1}]})", kCorrupt, "not negative");
  expect_refused(R"({"benchmarks": [{"name": "A", "cpu_time": 1, "time_unit": "h"}]})", kCorrupt,
                 "/benchmarks/0/time_unit");
}

TEST_F(MeasuredTableTest, FilesThatCannotBeRead) {
  EXPECT_EQ(read_measured_table(folder_.file("none")).status().code(), StatusCode::io);
  EXPECT_EQ(read_measured_table(folder_.path()).status().code(), StatusCode::io);
  const std::string damaged = write("damaged.db", std::string("SQLite format 3\0 and more", 25));
  EXPECT_EQ(read_measured_table(damaged).status().code(), StatusCode::corrupt);
  { Store store = open(); }
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const Status newer = read_measured_table(path_).status();
  EXPECT_EQ(newer.code(), StatusCode::incompatible);
  EXPECT_THAT(newer.message(), StartsWith(path_ + " has format 99"));
}

}  // namespace
}  // namespace mgtune
