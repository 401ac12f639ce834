#include "model/kept_results.h"

#include <set>

namespace mgtune {

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
