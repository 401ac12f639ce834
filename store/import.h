// The argument of Store::import_results(): results that were measured elsewhere, and where they
// were measured; and what the imports of results and of peers return. Plain data, without locks.
//
// In the store, an import is a sweep with the strategy "import" and the environment of the machine
// that measured. Its outcomes and measurements have the word "imported" instead of the SHA-256 of a
// build. No build has this hash, so a search by build never finds an imported result.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/views.h"

namespace mgtune {

inline constexpr std::string_view kImportStrategy = "import";
inline constexpr std::string_view kImportedBuild = "imported";

struct ImportedOutcome {
  ProblemRecord problem;
  std::string variant;
  Outcome outcome = Outcome::ok;
  std::optional<MeasurementRecord> measurement;
};

// The results of one GPU in one environment at one time.
struct ImportedSweep {
  GpuRecord gpu;
  EnvironmentRecord environment;
  std::string command;           // the command that imports the results
  std::string measured_at;       // UTC, "2026-11-21T09:00:00Z"
  std::vector<TunedView> picks;  // their row ids and `gpu` are not used
  std::vector<ImportedOutcome> outcomes;
};

struct ImportCounts {
  std::int64_t picks = 0, outcomes = 0;            // written to the store
  std::int64_t picks_kept = 0, outcomes_kept = 0;  // not written: the store has its own results
  std::int64_t known = 0;                          // not written: imported before, and unchanged
};

struct PeerCounts {
  std::int64_t added = 0;
  std::int64_t known = 0;  // not written: imported before
};

}  // namespace mgtune
