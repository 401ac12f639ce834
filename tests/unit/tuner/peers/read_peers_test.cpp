// Files with times of other implementations, in each form: what is read, and what is refused where.

#include "peers/read_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/gzip.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr char kNormProblem[] = "rows=4096 hidden=4096 T=bf16";

class ReadPeersTest : public testing::Test {
 protected:
  Result<ReadPeers> read(const std::vector<std::string>& texts) {
    std::vector<std::string> paths;
    for (const std::string& text : texts) {
      paths.push_back(folder_.file("file" + std::to_string(paths.size()) + ".json"));
      std::ofstream(paths.back(), std::ios::binary) << text;
    }
    const Result<PeerWords> words = checked_words(words_);
    if (!words.ok()) return words.status();
    Catalog catalog(FileSystem::real());
    return read_peers(FileSystem::real(), paths, *words, catalog);
  }

  std::vector<PeerView> peers(const std::string& text) {
    const Result<ReadPeers> result = read({text});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? result->peers : std::vector<PeerView>();
  }

  PeerView only(const std::string& text) {
    const std::vector<PeerView> all = peers(text);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? PeerView() : all.front();
  }

  // The message without the folder: "file0.json: /peers/0: ...".
  std::string refusal(const std::string& text, StatusCode code = StatusCode::corrupt) {
    const Result<ReadPeers> result = read({text});
    if (result.ok()) return "nothing was refused";
    EXPECT_EQ(result.status().code(), code) << result.status().message();
    const std::string message = result.status().message();
    return message.starts_with(folder_.path()) ? message.substr(folder_.path().size() + 1)
                                               : message;
  }

  TestFolder folder_;
  PeerWords words_;
};

// ---- mgtune's own form

std::string document(const std::string& rows, const std::string& gpu = "NVIDIA H200") {
  return R"({"format": 1, "gpu": ")" + gpu +
         R"(", "driver": "580.159.04", "cuda": "13.0", "framework": "torch 2.11.0",
             "measured_at": "2026-11-23T09:00:00Z", "peers": [)" +
         rows + "]}";
}

constexpr char kRow[] = R"({"name": "torch.compile", "version": "2.11.0",
  "operator": "rmsnorm.backward", "problem": {"rows": 4096, "hidden": 4096, "T": "bf16", "dw": true},
  "method": "graph", "median_ns": 52700, "low_ns": 52600, "high_ns": 52900.5, "samples": 63})";

TEST_F(ReadPeersTest, OwnFormHasEverything) {
  const PeerView view = only(document(kRow));
  EXPECT_EQ(view.op, "rmsnorm.backward");
  EXPECT_EQ(view.problem, "rows=4096 hidden=4096 T=bf16 dw=true");
  EXPECT_GT(view.bytes, 3 * 4096 * 4096 * 2.0);
  const PeerRecord expected = {"torch.compile",
                               "2.11.0",
                               "NVIDIA H200",
                               "graph",
                               "580.159.04",
                               "13.0",
                               "torch 2.11.0",
                               "2026-11-23T09:00:00Z",
                               folder_.file("file0.json"),
                               52700,
                               52600,
                               52900.5,
                               63};
  EXPECT_TRUE(view.peer == expected);
}

TEST_F(ReadPeersTest, AProblemMayBeTextAndGetsItsCanonicalText) {
  EXPECT_EQ(only(document(R"({"name": "a", "operator": "rmsnorm.forward", "median_ns": 5,
                              "problem": "T=bfloat16,hidden=4096 rows=4096,rstd=false"})"))
                .problem,
            kNormProblem);
}

TEST_F(ReadPeersTest, AGzippedFileIsReadToo) {
  const std::string text = document(kRow);
  const PeerView plain = only(text);
  const std::string packed = gzip(text).value();
  EXPECT_EQ(only(packed).peer.median_ns, plain.peer.median_ns);
}

TEST_F(ReadPeersTest, OwnFormNamesThePlaceOfAMistake) {
  const std::string start = R"({"name": "a", "operator": )";
  EXPECT_THAT(refusal(document(std::string(kRow) + R"(, {"name": "a"})")),
              StartsWith("file0.json: /peers/1: "));
  EXPECT_THAT(refusal(document(start + R"("rmsnorm.sideways", "problem": "", "median_ns": 5})")),
              AllOf(StartsWith("file0.json: /peers/0: "), HasSubstr("no operator 'sideways'")));
  EXPECT_THAT(
      refusal(document(start + R"("rmsnorm.forward", "problem": "rows=1 T=f32", "median_ns": 5})"),
              StatusCode::invalid_argument),
      AllOf(StartsWith("file0.json: /peers/0: "), HasSubstr("hidden"), HasSubstr("--problem")));
  const std::string norm = start + R"("rmsnorm.forward", "problem": "rows=1 hidden=8 T=f32", )";
  EXPECT_THAT(refusal(document(norm + R"("median_ns": "fast"})")),
              StartsWith("file0.json: /peers/0/median_ns: expected"));
  for (const char* time : {"0", "-1", "1e300"}) {
    EXPECT_THAT(refusal(document(norm + "\"median_ns\": " + time + "}")),
                StartsWith("file0.json: /peers/0: "))
        << time;
  }
  EXPECT_THAT(refusal(document(norm + R"("median_ns": 5, "unit": "ms"})")), HasSubstr("unit"));
  EXPECT_THAT(refusal(document(norm + R"("median_ns": 5, "method": "emulation"})"),
                      StatusCode::invalid_argument),
              HasSubstr("'emulation' is no method"));
  EXPECT_THAT(
      refusal(document(std::string(kRow) + "," + kRow)),
      AllOf(StartsWith("file0.json: /peers/1: a second time of torch.compile"), HasSubstr("once")));
  EXPECT_THAT(refusal(document(norm + R"("median_ns": 5, "version": "\u0007"})")),
              HasSubstr("printable"));
  EXPECT_THAT(refusal(R"({"format": 2, "peers": []})", StatusCode::incompatible),
              StartsWith("file0.json: /format: expected 1"));
  EXPECT_THAT(refusal(R"({"format": 1, "measured_at": "yesterday", "peers": []})"),
              StartsWith("file0.json: /measured_at: expected a date"));
}

TEST_F(ReadPeersTest, RunsOfOneMeasurementGiveTheMedianRun) {
  const auto run = [](int time) {
    return document(R"({"name": "a", "operator": "rmsnorm.forward", "samples": 7, "median_ns": )" +
                    std::to_string(time) + R"(, "problem": "rows=4096 hidden=4096 T=bf16"})");
  };
  const Result<ReadPeers> result = read({run(300), run(100), run(200)});
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->peers.size(), 1U);
  EXPECT_EQ(result->peers.front().peer.median_ns, 200);
  EXPECT_EQ(result->peers.front().peer.samples, 21);
}

TEST_F(ReadPeersTest, OneWrongFileOfTwoIsAFailure) {
  EXPECT_FALSE(read({document(kRow), "{"}).ok());
}

// ---- what scripts write for compare_with_peers.py --peers

TEST_F(ReadPeersTest, ARunOfPeersIsRead) {
  const Result<ReadPeers> result = read({R"({
    "meta": {"gpu": "NVIDIA H200", "torch": "2.11.0", "triton": "3.6.0", "cuda": "13.0", "l2_bytes": 7},
    "ceiling": {}, "results": [
      {"op": "rmsnorm_bwd", "dtype": "bf16", "shape": "4096x4096", "impl": "compile", "status": "ok",
       "method": "graph", "us": 52.7, "us_p20": 52.6, "us_p80": 52.9, "reps": 21},
      {"op": "rmsnorm_bwd", "dtype": "bf16", "shape": "4096x4096", "impl": "mgtune", "status": "ok", "us": 27},
      {"op": "rmsnorm_bwd", "dtype": "bf16", "shape": "4096x4096", "impl": "quack", "status": "error"},
      {"op": "mlp_gateup", "dtype": "bf16", "shape": "1x1", "impl": "eager", "status": "ok", "us": 1},
      {"op": "rmsnorm_fwd", "dtype": "fp32", "shape": "32x128", "impl": "liger", "status": "ok", "us": 2}]})"});
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->peers.size(), 2U);
  const PeerView& backward = result->peers[0];
  EXPECT_EQ(backward.problem, "rows=4096 hidden=4096 T=bf16 dw=true");
  EXPECT_EQ(backward.peer.name, "torch.compile");
  EXPECT_EQ(backward.peer.version, "2.11.0");
  EXPECT_EQ(backward.peer.framework, "torch 2.11.0, triton 3.6.0");
  EXPECT_DOUBLE_EQ(backward.peer.median_ns, 52700);
  EXPECT_DOUBLE_EQ(backward.peer.low_ns, 52600);
  EXPECT_EQ(backward.peer.samples, 21);
  EXPECT_EQ(result->peers[1].op, "rmsnorm.forward");
  EXPECT_EQ(result->peers[1].problem, "rows=32 hidden=128 T=f32");
  EXPECT_EQ(result->peers[1].peer.version, "");
  EXPECT_EQ(result->left_out.at("of mgtune itself"), 1);
  EXPECT_EQ(result->left_out.at("without a time"), 1);
  EXPECT_EQ(result->left_out.size(), 3U);
}

TEST_F(ReadPeersTest, ARunOfPeersNamesThePlaceOfAMistake) {
  EXPECT_THAT(refusal(R"({"meta": {"gpu": "NVIDIA H200"}, "results": [{"op": "rmsnorm_fwd",
                "dtype": "bf16", "shape": "4096", "impl": "a", "status": "ok", "us": 1}]})"),
              StartsWith("file0.json: /results/0/shape: expected rows and hidden size"));
  EXPECT_THAT(
      refusal(R"({"results": [{"op": "rmsnorm_fwd", "dtype": "bf16", "shape": "1x8",
                          "impl": "a", "status": "ok", "us": 1}]})",
              StatusCode::invalid_argument),
      AllOf(StartsWith("file0.json: /results/0: the GPU is not known"), HasSubstr("--gpu")));
}

// ---- Google Benchmark

std::string google(const std::string& benchmarks, const std::string& context = "") {
  return R"({"context": {"date": "2026-11-23T10:00:00+01:00", "num_cpus": 2)" + context +
         R"(}, "benchmarks": [)" + benchmarks + "]}";
}

TEST_F(ReadPeersTest, GoogleBenchmarkSaysInNamesWhatWasTimed) {
  const PeerView view = only(google(
      R"({"name": "BM_liger@0.6.2/rmsnorm.forward/rows:4096/hidden:4096/T:bf16/manual_time",
          "run_type": "iteration", "repetitions": 1, "iterations": 1000, "real_time": 23.4,
          "cpu_time": 99, "time_unit": "us"})",
      R"(, "gpu": "NVIDIA H200", "driver": "580", "cuda": "13.0", "framework": "torch 2.11.0")"));
  EXPECT_EQ(view.op, "rmsnorm.forward");
  EXPECT_EQ(view.problem, kNormProblem);
  EXPECT_EQ(view.peer.name, "liger");
  EXPECT_EQ(view.peer.version, "0.6.2");
  EXPECT_EQ(view.peer.method, "google_benchmark");
  EXPECT_EQ(view.peer.measured_at, "2026-11-23T09:00:00Z");
  EXPECT_EQ(view.peer.driver, "580");
  EXPECT_DOUBLE_EQ(view.peer.median_ns, 23400);
}

TEST_F(ReadPeersTest, OptionsSayWhatGoogleBenchmarkDoesNot) {
  words_.op = "rmsnorm.forward";
  words_.problem = {{"T", "bf16"}};
  words_.gpu = "H200";
  words_.method = "cuda_events";
  words_.name = "quack";
  words_.version = "1.0";
  const PeerView view = only(google(
      R"({"name": "BM_Norm<__half>/rows:4096/hidden:4096", "real_time": 17000, "time_unit": "ns"})"));
  EXPECT_EQ(view.problem, kNormProblem);
  EXPECT_EQ(view.peer.name, "quack");
  EXPECT_EQ(view.peer.version, "1.0");
  EXPECT_EQ(view.peer.gpu, "NVIDIA H200");
  EXPECT_EQ(view.peer.method, "cuda_events");
}

TEST_F(ReadPeersTest, RepetitionsOfGoogleBenchmarkGiveTheirMedian) {
  words_.gpu = "H200";
  const std::string name = R"("name": "a/rmsnorm.forward/rows:4096/hidden:4096/T:bf16")";
  std::string rows;
  for (const char* time : {"30", "10", "20"}) {
    rows +=
        (rows.empty() ? "{" : ", {") + name + R"(, "time_unit": "us", "real_time": )" + time + "}";
  }
  const PeerView view = only(google(rows));
  EXPECT_EQ(view.peer.median_ns, 20000);
  EXPECT_EQ(view.peer.low_ns, 10000);
  EXPECT_EQ(view.peer.high_ns, 30000);
  EXPECT_EQ(view.peer.samples, 3);
}

TEST_F(ReadPeersTest, AggregatesOfGoogleBenchmarkGiveTheMedian) {
  words_.gpu = "H200";
  std::string rows;
  for (const auto& [aggregate, time] : std::vector<std::pair<std::string, std::string>>{
           {"mean", "90"}, {"median", "20"}, {"stddev", "2"}, {"cv", "0.02"}}) {
    const std::string name = "a/rmsnorm.forward/rows:4096/hidden:4096/T:bf16";
    rows += (rows.empty() ? "" : ",") + (R"({"name": ")" + name) + "_" + aggregate +
            R"(", "run_name": ")" + name + R"(", "run_type": "aggregate", "aggregate_name": ")" +
            aggregate + R"(", "repetitions": 5, "time_unit": "us", "real_time": )" + time + "}";
  }
  const PeerView view = only(google(rows));
  EXPECT_EQ(view.peer.median_ns, 20000);
  EXPECT_EQ(view.peer.low_ns, 18000);
  EXPECT_EQ(view.peer.high_ns, 22000);
  EXPECT_EQ(view.peer.samples, 5);
}

TEST_F(ReadPeersTest, GoogleBenchmarkIsRefusedIfItDoesNotSayEnough) {
  words_.gpu = "H200";
  const auto named = [](const std::string& name) {
    return google(R"({"name": ")" + name + R"(", "real_time": 5, "time_unit": "us"})");
  };
  EXPECT_THAT(refusal(named("BM_Norm/rows:4096/hidden:4096"), StatusCode::invalid_argument),
              AllOf(StartsWith("file0.json: /benchmarks/0: the operator is not known"),
                    HasSubstr("--operator")));
  EXPECT_THAT(refusal(named("a/rmsnorm.forward/4096/4096")),
              AllOf(HasSubstr("the value 4096 has no name"), HasSubstr("ArgNames")));
  EXPECT_THAT(refusal(named("a/rmsnorm.forward/swiglu.forward")), HasSubstr("two operators"));
  EXPECT_THAT(refusal(named("rmsnorm.forward/rows:1/hidden:8/T:f32"), StatusCode::invalid_argument),
              HasSubstr("--name"));
  EXPECT_THAT(
      refusal(named("a/rmsnorm.forward/row:1/hidden:8/T:f32"), StatusCode::invalid_argument),
      HasSubstr("did you mean 'rows'"));
  EXPECT_THAT(refusal(google(R"({"name": "a/rmsnorm.forward/rows:1/hidden:8/T:f32",
                                  "real_time": 5, "time_unit": "weeks"})")),
              StartsWith("file0.json: /benchmarks/0/time_unit: expected ns, us, ms or s"));
  words_.problem = {{"T", "f16"}};
  EXPECT_THAT(
      refusal(named("a/rmsnorm.forward/rows:1/hidden:8/T:f32"), StatusCode::invalid_argument),
      HasSubstr("the file says 'f32', but --problem T says 'f16'"));
}

TEST_F(ReadPeersTest, ABenchmarkThatFailedIsLeftOut) {
  words_.gpu = "H200";
  const Result<ReadPeers> result = read({google(
      R"({"name": "a/rmsnorm.forward/rows:1/hidden:8/T:f32", "error_occurred": true,
          "error_message": "no", "real_time": 0, "time_unit": "us"})")});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(result->peers, IsEmpty());
  EXPECT_EQ(result->left_out.at("that failed or were skipped"), 1);
}

// ---- nvbench

std::string summary(const std::string& tag, const std::string& value) {
  return R"({"tag": ")" + tag +
         R"(", "name": "x", "data": [{"name": "value", "type": "float64", "value": ")" + value +
         R"("}]})";
}

std::string nvbench(const std::string& summaries, const std::string& state = "",
                    const std::string& name = "cub/rmsnorm.forward") {
  return R"({"meta": {"argv": []}, "devices": [{"id": 0, "name": "NVIDIA L4"},
             {"id": 1, "name": "NVIDIA H200"}], "benchmarks": [{"name": ")" +
         name + R"(", "devices": [1], "axes": [], "states": [{"name": "Device=1 ...", "device": 1,
             "axis_values": [{"name": "rows", "type": "int64", "value": "4096"},
                             {"name": "hidden", "type": "int64", "value": "4096"},
                             {"name": "T", "type": "type", "value": "BF16"}], )" +
         state + R"("summaries": [)" + summaries + "]}]}]}";
}

TEST_F(ReadPeersTest, NvbenchSaysInAxesWhatWasTimed) {
  const PeerView view = only(nvbench(summary("nv/cold/sample_size", "500") + "," +
                                     summary("nv/cold/time/gpu/mean", "2.0e-05") + "," +
                                     summary("nv/cold/time/gpu/stdev/absolute", "1e-6")));
  EXPECT_EQ(view.op, "rmsnorm.forward");
  EXPECT_EQ(view.problem, kNormProblem);
  EXPECT_EQ(view.peer.name, "cub");
  EXPECT_EQ(view.peer.gpu, "NVIDIA H200");  // of the state's device
  EXPECT_EQ(view.peer.method, "nvbench_cold");
  EXPECT_EQ(view.peer.measured_at, "");
  EXPECT_DOUBLE_EQ(view.peer.median_ns, 20000);
  EXPECT_DOUBLE_EQ(view.peer.low_ns, 19000);
  EXPECT_DOUBLE_EQ(view.peer.high_ns, 21000);
  EXPECT_EQ(view.peer.samples, 500);
}

TEST_F(ReadPeersTest, TheMedianOfNvbenchIsPreferredToItsMean) {
  const PeerView view = only(nvbench(summary("nv/cold/time/gpu/mean", "9e-05") + "," +
                                     summary("nv/cold/time/gpu/median", "2e-05") + "," +
                                     summary("nv/cold/time/gpu/q1", "1.9e-05") + "," +
                                     summary("nv/cold/time/gpu/q3", "2.2e-05") + "," +
                                     summary("nv/batch/time/gpu/mean", "1e-05")));
  EXPECT_DOUBLE_EQ(view.peer.median_ns, 20000);
  EXPECT_DOUBLE_EQ(view.peer.low_ns, 19000);
  EXPECT_DOUBLE_EQ(view.peer.high_ns, 22000);
}

TEST_F(ReadPeersTest, ABatchOfNvbenchIsAnotherMethod) {
  const PeerView view = only(nvbench(summary("nv/batch/time/gpu/mean", "1e-05")));
  EXPECT_EQ(view.peer.method, "nvbench_batch");
  EXPECT_DOUBLE_EQ(view.peer.median_ns, 10000);
}

TEST_F(ReadPeersTest, ASkippedStateOfNvbenchIsLeftOut) {
  const Result<ReadPeers> result = read({nvbench("", R"("is_skipped": true, )")});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(result->peers, IsEmpty());
  EXPECT_EQ(result->left_out.at("that failed or were skipped"), 1);
}

TEST_F(ReadPeersTest, NvbenchNamesThePlaceOfAMistake) {
  EXPECT_THAT(refusal(nvbench("")),
              StartsWith("file0.json: /benchmarks/0/states/0: no summary has the tag nv/cold"));
  EXPECT_THAT(refusal(nvbench(summary("nv/cold/time/gpu/mean", "soon"))),
              StartsWith("file0.json: /benchmarks/0/states/0/summaries/0/data/0/value: expected a "
                         "number"));
  EXPECT_THAT(refusal(nvbench(summary("nv/cold/time/gpu/mean", "inf"))),
              StartsWith("file0.json: /benchmarks/0/states/0: expected a time above 0"));
  EXPECT_THAT(refusal(nvbench(summary("nv/cold/time/gpu/mean", "1e-5"), "", "cub"),
                      StatusCode::invalid_argument),
              HasSubstr("--operator"));
  words_.gpu = "L4";
  EXPECT_THAT(
      refusal(nvbench(summary("nv/cold/time/gpu/mean", "1e-5")), StatusCode::invalid_argument),
      HasSubstr("the file says 'NVIDIA H200', but --gpu says 'NVIDIA L4'"));
}

// ---- triton

TEST_F(ReadPeersTest, DoBenchHasATimeForEachName) {
  words_.gpu = "H200";
  const std::vector<PeerView> all = peers(R"({"context": {"date": "2026-11-23"},
    "torch.compile@2.11.0/rmsnorm.forward/rows=4096/hidden=4096/dtype=torch.bfloat16": [0.0204, 0.0203, 0.0206],
    "eager/rmsnorm.forward/rows:4096/hidden:4096/T:bf16": 0.2238,
    "liger/rmsnorm.forward/rows:4096/hidden:4096/T:bf16": [0.030, 0.010, 0.020, 0.040, 0.050]})");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].peer.name, "eager");
  EXPECT_DOUBLE_EQ(all[0].peer.median_ns, 223800);
  EXPECT_EQ(all[0].peer.samples, 0);
  EXPECT_EQ(all[0].peer.measured_at, "2026-11-23T00:00:00Z");
  EXPECT_EQ(all[1].peer.name, "liger");
  EXPECT_DOUBLE_EQ(all[1].peer.median_ns, 30000);
  EXPECT_EQ(all[1].peer.samples, 5);
  EXPECT_EQ(all[2].peer.name, "torch.compile");
  EXPECT_EQ(all[2].peer.version, "2.11.0");
  EXPECT_EQ(all[2].problem, kNormProblem);
  EXPECT_EQ(all[2].peer.method, "do_bench");
  EXPECT_DOUBLE_EQ(all[2].peer.median_ns, 20400);
  EXPECT_DOUBLE_EQ(all[2].peer.low_ns, 20300);
  EXPECT_DOUBLE_EQ(all[2].peer.high_ns, 20600);
}

TEST_F(ReadPeersTest, DoBenchRefusesQuantilesInAnotherOrder) {
  words_.gpu = "H200";
  EXPECT_THAT(
      refusal(R"({"a/rmsnorm.forward/rows:1/hidden:8/T:f32": [0.01, 0.02, 0.03]})"),
      AllOf(StartsWith("file0.json: /a~1rmsnorm.forward~1rows:1~1hidden:8~1T:f32: expected the "
                       "quantiles 0.5, 0.2 and 0.8")));
}

TEST_F(ReadPeersTest, PerfReportHasRowsOrColumns) {
  words_.op = "rmsnorm.forward";
  words_.problem = {{"T", "bf16"}};
  words_.gpu = "H200";
  const std::string rows = R"j([{"rows": 4096, "hidden": 4096.0, "liger (ms)": 0.03,
    "liger-min (ms)": 0.02, "liger-max (ms)": 0.05, "quack (ms)": null}])j";
  const std::string columns = R"j({"rows": {"0": 4096}, "hidden": {"0": 4096.0},
    "liger (ms)": {"0": 0.03}, "liger-min (ms)": {"0": 0.02}, "liger-max (ms)": {"0": 0.05},
    "quack (ms)": {"0": null}})j";
  for (const std::string& text : {rows, columns}) {
    const Result<ReadPeers> result = read({text});
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->peers.size(), 1U);
    const PeerView& view = result->peers.front();
    EXPECT_EQ(view.problem, kNormProblem);
    EXPECT_EQ(view.peer.name, "liger");
    EXPECT_EQ(view.peer.method, "do_bench");
    EXPECT_DOUBLE_EQ(view.peer.median_ns, 30000);
    EXPECT_DOUBLE_EQ(view.peer.low_ns, 20000);
    EXPECT_DOUBLE_EQ(view.peer.high_ns, 50000);
    EXPECT_EQ(result->left_out.at("without a time"), 1);
  }
}

TEST_F(ReadPeersTest, PerfReportOfAnotherUnitIsRefused) {
  words_.op = "rmsnorm.forward";
  words_.problem = {{"T", "bf16"}};
  words_.gpu = "H200";
  EXPECT_THAT(
      refusal(R"j([{"rows": 1, "hidden": 8, "liger (GB/s)": 3000}])j"),
      AllOf(StartsWith("file0.json: /0/liger (GB~1s): the column"), HasSubstr("no unit of time")));
  const std::string bare = R"([{"rows": 1, "hidden": 8, "liger": 0.03}])";
  EXPECT_THAT(refusal(bare, StatusCode::invalid_argument), HasSubstr("--unit ms"));
  words_.unit = "us";
  EXPECT_DOUBLE_EQ(only(bare).peer.median_ns, 30);
  words_.op = "";
  EXPECT_THAT(refusal(bare, StatusCode::invalid_argument), HasSubstr("--operator"));
}

TEST_F(ReadPeersTest, AColumnThatIsNoDimIsNotMistakenForOne) {
  words_.op = "rmsnorm.forward";
  words_.unit = "ms";
  words_.problem = {{"T", "bf16"}};
  words_.gpu = "H200";
  EXPECT_THAT(refusal(R"([{"M": 4096, "hidden": 8, "liger": 0.03}])", StatusCode::invalid_argument),
              HasSubstr("rows"));
}

// ---- any form

TEST_F(ReadPeersTest, AFileOfNoFormIsRefusedWithTheForms) {
  for (const char* text : {"[]", "{}", "5", R"({"a": "b"})", R"([[1, 2]])"}) {
    EXPECT_THAT(refusal(text),
                AllOf(HasSubstr("Expected one of these forms"), HasSubstr("nvbench")))
        << text;
  }
  EXPECT_THAT(refusal("{\"peers\": "), HasSubstr("line 1"));
}

TEST_F(ReadPeersTest, AFileThatIsNotThereIsNamed) {
  Catalog catalog(FileSystem::real());
  const Result<ReadPeers> result =
      read_peers(FileSystem::real(), {folder_.file("none.json")}, PeerWords(), catalog);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("none.json"));
}

TEST_F(ReadPeersTest, WordsOfTheUserAreChecked) {
  const auto refused = [](PeerWords words) {
    return checked_words(std::move(words)).status().message();
  };
  PeerWords words;
  words.gpu = "cpu";
  EXPECT_THAT(refused(words), HasSubstr("emulates"));
  words.gpu = "H20";
  EXPECT_THAT(refused(words), AllOf(HasSubstr("no GPU is called so"), HasSubstr("H200")));
  words.gpu = "H100";
  EXPECT_THAT(refused(words), HasSubstr("'NVIDIA H100 PCIe', 'NVIDIA H100 80GB HBM3'"));
  words.gpu = "NVIDIA H100 NVL";  // the driver's name of one that configs/gpus does not have
  EXPECT_EQ(checked_words(words)->gpu, "NVIDIA H100 NVL");
  words.measured_at = "23.11.2026";
  EXPECT_THAT(refused(words), StartsWith("--date 23.11.2026: expected"));
  words.measured_at = "2026-11-23";
  EXPECT_EQ(checked_words(words)->measured_at, "2026-11-23T00:00:00Z");
  words.method = "emulation";
  EXPECT_THAT(refused(words), StartsWith("--method emulation"));
}

}  // namespace
}  // namespace mgtune
