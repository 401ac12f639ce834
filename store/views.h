// Rows of the store joined with the rows that they refer to, as the queries of Store return them.
// The views that programs need too are in database/pick.h. Plain data, without locks.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "database/pick.h"
#include "store/records.h"

namespace mgtune {

// The results of all variants on all problems, in a compact form: a Row has indices into the lists
// below instead of texts, so 100,000 rows take a few megabytes. There is one row for each GPU,
// problem, variant and method: the newest.
struct MeasuredRows {
  struct ProblemText {
    std::string op, text;
  };
  struct Row {
    std::uint32_t gpu = 0, problem = 0, variant = 0;
    std::uint32_t method = 0;  // an index into `methods`; 0 if the row has no time
    std::uint32_t driver = 0;  // an index into `drivers`
    Outcome outcome = Outcome::ok;
    double median_ns = 0;  // 0 unless the outcome is ok or raced_out
  };
  std::vector<GpuRecord> gpus;
  std::vector<ProblemText> problems;
  std::vector<std::string> variants;  // variant_text()
  std::vector<std::string> methods = {""};
  std::vector<std::string> drivers;
  std::vector<Row> rows;
};

struct FinalView {
  FinalRecord final;
  GpuRecord gpu;
  std::string op, problem;
};

struct CeilingView {
  CeilingRecord ceiling;
  std::int64_t sweep = 0;
  std::int64_t gpu_id = 0;
  std::string driver;
};

// The counters of one variant on one problem, from the newest sweep that counted them.
struct CounterView {
  std::int64_t sweep = 0;
  std::int64_t gpu_id = 0;
  std::string op, problem, variant, build_sha256, launch_hash;
  std::vector<CounterRecord> counters;  // in the order in which they were recorded
};

struct SpaceView {
  std::int64_t sweep = 0;
  std::int64_t gpu_id = 0;
  std::string op, problem;
  SpaceRecord space;
};

struct OutcomeView : BuildResources {
  std::int64_t id = 0;      // of the row: a variant that was recorded later has a larger id
  std::string recorded_at;  // UTC, "2026-11-21T09:00:00.123Z"; "" for imports and old rows
  std::int64_t sweep = 0;
  GpuRecord gpu;
  std::int64_t gpu_id = 0;
  std::string op, problem, variant;
  double bytes = 0, flops = 0;
  Outcome outcome = Outcome::ok;
  std::string message;
  std::string build_sha256;
  std::string launch_hash;  // of the measurement; "" if there is none
  std::optional<CheckRecord> check;
  std::optional<MeasurementRecord> measurement;
};

// The compiler's log of a build that succeeded.
struct BuildLogView {
  std::string sha256;  // of the binary
  std::string log;     // its first lines
};

struct PeerView {
  PeerRecord peer;
  std::string op, problem;
  double bytes = 0, flops = 0;  // of the problem's cost
};

// The metrics of a problem, in the order of the operator's file.
struct MetricsView {
  std::string op, problem;
  std::vector<MetricRecord> metrics;
};

struct SweepView {
  SweepRecord sweep;
  GpuRecord gpu;
  EnvironmentRecord environment;
};

}  // namespace mgtune
