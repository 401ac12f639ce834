// MeasuredTable: the times in one file, as rows that can be matched with those of another file. The
// file is a database of results, one of our exports (`show variants --json`, `show best --json`,
// `sweep --json`, a tuned table of `export`), or the JSON of Google Benchmark. Plain data.

#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/noise_rule.h"
#include "core/status.h"
#include "store/records.h"

namespace mgtune {

// The identity of a row. Rows of two files are compared if their identities are equal.
struct RowName {
  std::string op, problem;  // empty for a benchmark
  std::string variant;      // or the benchmark's name
  std::string device;       // the GPU's model; "cpu"; "host" for a benchmark
  // More properties of the GPU. "" in an export, which has only the model.
  std::string device_details;
  std::string method;  // for a benchmark: "cpu time", "real time", "manual time"
  bool emulation = false;

  auto operator<=>(const RowName&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct MeasuredRow {
  RowName name;
  TimeEstimate time;  // median_ns is above 0
  Clock clock = Clock::gpu;
  // Every figure that the file has of the samples, in the order in which files of its kind have
  // them. Two rows with equal figures are one and the same measurement.
  std::vector<double> figures = {};
  // Whether its file picked the variant for the problem. A benchmark counts as a pick.
  bool is_pick = false;
};

// The reason of an UntimedRow if no other is known.
inline constexpr std::string_view kNoTime = "no time";

struct UntimedRow {
  RowName name;
  std::string reason;  // the outcome, or the message of the benchmark
};

struct MeasuredTable {
  std::string file;
  std::string kind;     // "database", "variants", "picks", "sweeps", "tables", "Google Benchmark"
  std::string host;     // of a benchmark, as its file names it
  std::string caution;  // a sentence on how its times were taken; "" for none
  std::vector<MeasuredRow> rows;
  std::vector<UntimedRow> untimed;
  std::map<std::string, GpuRecord> gpus;  // by device_details; empty for an export
};

// Removes the rows that are not wanted, timed or not.
void keep_rows(MeasuredTable& table, const std::function<bool(const RowName&)>& is_wanted);

// io if the file cannot be read. If the file is damaged or is none of these kinds: corrupt,
// incompatible or io, with the name of the file and, for JSON, the place.
Result<MeasuredTable> read_measured_table(const std::string& path);

}  // namespace mgtune
