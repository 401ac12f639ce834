// What Store::import_results() takes: results that were found elsewhere, with where they come from.
// Plain data; use from several threads needs the caller's own order.
//
// In the store an import is a sweep of strategy "import", with the environment of the machine that
// measured. Its outcomes and measurements have "imported" for the SHA-256 of their build, which no
// build has: what looks results up by their build never finds them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/records.h"

namespace mgtune {

inline constexpr std::string_view kImportStrategy = "import";
inline constexpr std::string_view kImportedBuild = "imported";

struct ImportedProblem {
  std::string op, text;
  double bytes = 0, flops = 0;  // of its cost
};

struct ImportedPick {
  ImportedProblem problem;
  TunedRecord tuned;  // without row ids; build_sha256 "" where it is not known
};

struct ImportedOutcome {
  ImportedProblem problem;
  std::string variant;
  Outcome outcome = Outcome::ok;
  std::optional<MeasurementRecord> measurement;
};

// What one run elsewhere found.
struct ImportedSweep {
  GpuRecord gpu;
  EnvironmentRecord environment;
  std::string command;      // that imports it
  std::string measured_at;  // UTC, "2026-11-21T09:00:00Z"
  std::vector<ImportedPick> picks;
  std::vector<ImportedOutcome> outcomes;
};

struct ImportCounts {
  std::int64_t picks = 0, outcomes = 0;            // written
  std::int64_t picks_kept = 0, outcomes_kept = 0;  // left out: a sweep of this store has its own
  std::int64_t known = 0;                          // left out: imported before, and the same
};

}  // namespace mgtune
