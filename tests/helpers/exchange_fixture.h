// ExchangeTest: a store with results of an operator of two designs, in a folder of its own, and the
// catalog that knows the operator.

#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "exchange/collect_results.h"
#include "exchange/formats.h"
#include "exchange/read_document.h"
#include "family/catalog.h"
#include "system/file_system.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {

inline constexpr char kPairJson[] = R"json({
  "format": 1,
  "dims": {"n": "dynamic"},
  "dtypes": {"T": ["f32", "bf16"]},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["n"], "fill": "normal"},
    "y": {"role": "out", "dtype": "T", "shape": ["n"]}
  },
  "cost": {"bytes": "2 * n * sizeof(T)", "flops": "n"},
  "check": {"reference": "pair_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-6, "bf16": 1e-2}},
  "problems": {"default": [{"n": 1000}], "emulation": [{"n": 1000}]},
  "designs": {
    "flat": {
      "source": "add.cu", "params": {"THREADS": [32, 64, 128], "LOAD": ["plain", "bulk"]},
      "launches": [{"kernel": "flat<T, THREADS, LOAD>", "grid": ["ceil_div(n, THREADS)"],
                    "block": ["THREADS"], "args": ["x", "y", "n:i64"]}],
      "defaults": [{"THREADS": 32, "LOAD": "plain"}]
    },
    "tiled": {
      "source": "add.cu", "params": {"TILE": [8, 16], "ASYNC": [false, true], "THREADS": [64]},
      "launches": [{"kernel": "tiled<T, TILE, ASYNC, THREADS>", "grid": ["ceil_div(n, THREADS)"],
                    "block": ["THREADS"], "args": ["x", "y", "n:i64"]}],
      "defaults": [{"TILE": 8, "ASYNC": false, "THREADS": 64}]
    }
  }
})json";

class ExchangeTest : public StoreTest {
 protected:
  void SetUp() override {
    const std::string family = folder_.file("pair");
    std::filesystem::create_directory(family);
    std::ofstream(family + "/add.json") << kPairJson;
    std::ofstream(family + "/add.cu") << "\n";
    std::ofstream(family + "/reference.cu") << "\n";
    family_ = family;
    const Status found = catalog_.find(family).status();
    ASSERT_TRUE(found.ok()) << found.message();
  }

  // A sweep on the H200 by two methods; on the problem n=64 the default stays.
  void fill(Store& store) {
    gpu_ = *store.gpu_id(kH200Record);
    SweepRecord sweep;
    sweep.gpu = gpu_;
    sweep.environment = *store.environment_id({"0.1.0", "NVRTC 12.8", "570.124", "Debian 12"});
    sweep.command = "mgtune sweep --kernel pair";
    sweep.strategy = "exhaustive";
    sweep.started_at = "2026-11-21T09:00:00Z";
    sweep_ = *store.begin_sweep(sweep);
    big_ = *store.problem_id("pair.add", "n=1000 T=f32", 8000, 1000);
    small_ = *store.problem_id("pair.add", "n=64 T=f32", 512, 64);
    add(store, big_, "tiled TILE=16 ASYNC=true THREADS=64", Outcome::compile_failed);
    add(store, big_, "tiled TILE=8 ASYNC=true THREADS=64", Outcome::raced_out, 2000.0 / 3);
    add(store, big_, "tiled TILE=8 ASYNC=false THREADS=64", Outcome::timeout);
    add(store, big_, "flat THREADS=128 LOAD=plain", Outcome::wrong);
    add(store, big_, "flat THREADS=64 LOAD=bulk", Outcome::ok, 401.25);
    add(store, big_, "flat THREADS=32 LOAD=plain", Outcome::ok, 512.5);
    add(store, small_, "flat THREADS=32 LOAD=plain", Outcome::ok, 100);
    sweep.started_at = "2026-11-21T10:00:00Z";
    sweep_ = *store.begin_sweep(sweep);
    add(store, big_, "flat THREADS=64 LOAD=bulk", Outcome::ok, 350, "graph");
    pick(store, big_, "flat THREADS=64 LOAD=bulk", 401.25, 512.5);
    pick(store, small_, "flat THREADS=32 LOAD=plain", 100, 100);
    EXPECT_TRUE(store.record_ceiling(sweep_, gpu_, {"copy", "rotating", 8000, 2e10, "", {}}).ok());
  }

  void add(Store& store, std::int64_t problem, const std::string& variant, Outcome outcome,
           double median_ns = 0, const std::string& method = "rotating") {
    OutcomeRecord record;
    record.sweep = sweep_;
    record.key = {gpu_, problem, "sha " + variant, "launch", "reference"};
    record.variant = variant;
    record.outcome = outcome;
    if (median_ns > 0) {
      record.measurement = MeasurementRecord{};
      record.measurement->outcome = outcome;
      record.measurement->method = method;
      record.measurement->median_ns = median_ns;
      record.measurement->min_ns = median_ns - 1;
      record.measurement->samples = 31;
      record.measurement->note = outcome == Outcome::ok ? "" : "stopped \"early\"";
    }
    EXPECT_TRUE(store.record(record).ok());
  }

  void pick(Store& store, std::int64_t problem, const std::string& variant, double median_ns,
            double default_median_ns) {
    TunedRecord tuned;
    tuned.sweep = sweep_;
    tuned.gpu = gpu_;
    tuned.problem = problem;
    tuned.variant = variant;
    tuned.build_sha256 = std::string(64, 'a');
    tuned.default_variant = "flat THREADS=32 LOAD=plain";
    tuned.method = "rotating";
    tuned.median_ns = median_ns;
    tuned.default_median_ns = default_median_ns;
    tuned.tie = median_ns == default_median_ns;
    EXPECT_TRUE(store.record_tuned(tuned).ok());
  }

  static const ExchangeFormat& format(std::string_view name) {
    for (const ExchangeFormat& format : exchange_formats()) {
      if (format.name == name) return format;
    }
    return exchange_formats().front();
  }

  static std::vector<Document> exported(Store& store, std::string_view name,
                                        bool to_folder = false) {
    const ExchangedResults results = collect_results(store, {}).value();
    Result<std::vector<Document>> documents = format(name).write(results, to_folder);
    EXPECT_TRUE(documents.ok()) << documents.status().message();
    return documents.ok() ? *std::move(documents) : std::vector<Document>();
  }

  std::string write(const std::string& name, std::string_view content) const {
    std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  Result<std::vector<ImportedSweep>> read(const std::vector<std::string>& paths) {
    return read_results(FileSystem::real(), paths, catalog_, "mgtune import");
  }
  Result<std::vector<ImportedSweep>> read_text(std::string_view content) {
    return read({write("import.json", content)});
  }

  Catalog catalog_{FileSystem::real()};
  std::string family_;
  std::int64_t gpu_ = 0, sweep_ = 0, big_ = 0, small_ = 0;
};

}  // namespace mgtune
