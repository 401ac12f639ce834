#include "sweep/sweep_journal.h"

#include "sweep/environment.h"
#include "system/utc_now.h"

namespace mgtune {

Result<std::int64_t> SweepJournal::begin() {
  if (sweep_id_ != 0) return sweep_id_;
  MGTUNE_ASSIGN(const EnvironmentRecord environment, describe_environment(device_));
  SweepRecord sweep;
  sweep.gpu = gpu_id_;
  MGTUNE_ASSIGN(sweep.environment, store_.environment_id(environment));
  sweep.command = options_.command;
  sweep.strategy = options_.strategy;
  sweep.budget = options_.budget.text;
  sweep.started_at = utc_now();
  MGTUNE_ASSIGN(sweep_id_, store_.begin_sweep(sweep));
  return sweep_id_;
}

Status SweepJournal::finish() {
  return sweep_id_ == 0 ? Status() : store_.finish_sweep(sweep_id_, utc_now());
}

}  // namespace mgtune
