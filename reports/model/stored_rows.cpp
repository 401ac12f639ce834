#include "model/stored_rows.h"

#include <cstdint>
#include <set>

namespace mgtune {

Result<StoredRows> read_stored_rows(Store& store) {
  StoredRows rows;
  MGTUNE_ASSIGN(rows.tuned, store.tuned());
  MGTUNE_ASSIGN(rows.outcomes, store.outcomes());
  MGTUNE_ASSIGN(rows.sweeps, store.sweeps());
  MGTUNE_ASSIGN(rows.finals, store.finals());
  MGTUNE_ASSIGN(rows.spaces, store.spaces());
  MGTUNE_ASSIGN(rows.peers, store.peers());
  MGTUNE_ASSIGN(rows.metrics, store.metrics());
  MGTUNE_ASSIGN(rows.counters, store.counters(std::string()));
  MGTUNE_ASSIGN(rows.build_logs, store.build_logs());
  std::set<std::int64_t> gpus;
  for (const OutcomeView& row : rows.outcomes) gpus.insert(row.gpu_id);
  for (const TunedView& row : rows.tuned) gpus.insert(row.tuned.gpu);
  for (const std::int64_t gpu : gpus) {
    MGTUNE_ASSIGN(const std::vector<CeilingView> ceilings, store.ceilings(gpu));
    rows.ceilings.insert(rows.ceilings.end(), ceilings.begin(), ceilings.end());
  }
  return rows;
}

bool keep_results(StoredRows& rows, const WantsResult& wants) {
  const auto is_unwanted = [&](const auto& row) { return !wants(row.op, row.gpu); };
  std::erase_if(rows.tuned, is_unwanted);
  std::erase_if(rows.outcomes, is_unwanted);
  std::set<std::int64_t> sweeps, gpus;
  const auto keep = [&](std::int64_t sweep, std::int64_t gpu) {
    sweeps.insert(sweep);
    gpus.insert(gpu);
  };
  for (const TunedView& row : rows.tuned) keep(row.tuned.sweep, row.tuned.gpu);
  for (const OutcomeView& row : rows.outcomes) keep(row.sweep, row.gpu_id);
  std::erase_if(rows.ceilings, [&](const CeilingView& row) { return !gpus.contains(row.gpu_id); });
  for (const CeilingView& row : rows.ceilings) sweeps.insert(row.sweep);
  std::erase_if(rows.sweeps, [&](const SweepView& row) { return !sweeps.contains(row.sweep.id); });
  return !rows.tuned.empty() || !rows.outcomes.empty();
}

}  // namespace mgtune
