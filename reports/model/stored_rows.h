// StoredRows: the rows of a store that a report is made from. Plain data; one thread.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "store/store.h"
#include "store/views.h"

namespace mgtune {

// The rows of the store, in any order.
struct StoredRows {
  std::vector<TunedView> tuned;
  std::vector<OutcomeView> outcomes;
  std::vector<SweepView> sweeps;
  std::vector<FinalView> finals;
  std::vector<CounterView> counters;
  std::vector<CeilingView> ceilings;
  std::vector<SpaceView> spaces;
  std::vector<PeerView> peers;       // of any problem and GPU
  std::vector<MetricsView> metrics;  // likewise
  std::vector<BuildLogView> build_logs;
};

Result<StoredRows> read_stored_rows(Store& store);

// Keeps the picks and outcomes that `wants` accepts, and the ceilings and sweeps that belong to
// them. Returns whether any pick or outcome is left.
using WantsResult = std::function<bool(const std::string& op, const GpuRecord& gpu)>;
bool keep_results(StoredRows& rows, const WantsResult& wants);

}  // namespace mgtune
