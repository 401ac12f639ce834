// ReportModel: everything that a report shows, read from the store alone. `mgtune show` prints parts of
// it, `mgtune report` writes all of it; both say the same because both read this. Plain data.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "store/records.h"
#include "store/store.h"

namespace mgtune {

// The pick for one problem on one GPU beside its default.
struct ReportPick {
  TunedView view;
  double speedup = 1;  // over the default
  double bandwidth_gbps = 0;  // counted bytes over time; 0 for emulation
  std::int64_t variants_ok = 0, variants_failed = 0;  // of this problem
};

struct OutcomeCount {
  Outcome outcome;
  std::int64_t count = 0;
};

struct ReportModel {
  std::string generated_at;    // UTC
  std::string mgtune_version;
  std::vector<std::string> verdict;  // one or two sentences
  bool emulation = false;      // some of the times are the cpu device's
  std::vector<ReportPick> picks;
  std::vector<OutcomeView> variants;  // fastest first within a problem
  std::vector<OutcomeView> failures;
  std::vector<OutcomeCount> counts;
  std::vector<SweepView> sweeps;  // newest first
};

Result<ReportModel> read_report_model(Store& store);

}  // namespace mgtune
