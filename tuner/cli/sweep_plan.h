// SweepPlan: what the words of `mgtune sweep` mean on one device, or on GPUs of one model that
// share the work: problems, strategy, budget. Made for all of them before the first sweep starts,
// so that a wrong word costs nothing. Plain data.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "plan/shard.h"
#include "sweep/planned_problem.h"
#include "sweep/sweep.h"

namespace mgtune {

struct SweepWords {
  std::string kernel, gpu = "auto", dtype, shapes, strategy, budget, target, method, database;
  std::string shard;
  std::vector<std::string> problems;
  std::uint64_t seed = 1;
  bool counters = false, watch = false, dry_run = false, json = false;
};

struct SweepPlan {
  DeviceInfo device;                // the first of `devices`
  std::vector<DeviceInfo> devices;  // of one model
  std::vector<PlannedProblem> problems;
  std::string strategy;
  Budget budget;
  std::optional<double> target;  // of --target
  TimingMethod method;
  std::int64_t largest_bytes = 0;  // that any of the problems moves
  std::optional<Shard> shard;      // whose the problems are, of `all_problems`
  std::int64_t all_problems = 0;

  bool emulation() const { return device.kind == DeviceKind::cpu; }
};

// One per model of the devices that --gpu names. `catalog` outlives the plans; `program` is
// mgtune's path, to ask a child process how GPUs can be timed here.
Result<std::vector<SweepPlan>> make_sweep_plans(const SweepWords& words, Catalog& catalog,
                                                const std::string& program);

}  // namespace mgtune
