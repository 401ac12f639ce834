// SweepPlan: the problems, the strategy and the budget of a sweep on one device, or on GPUs of one
// model that share the work. All plans are made before the first sweep starts, so that a wrong word
// costs no time. Plain data.

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

// What a user asks for, as typed; "" means the default.
struct SweepRequest {
  std::string kernel, gpu = "auto", dtype, shapes, strategy, budget, target, method, shard;
  std::vector<std::string> problems;
  bool counters = false;
};

struct SweepPlan {
  DeviceInfo device;                // the first of `devices`
  std::vector<DeviceInfo> devices;  // of one model
  std::vector<PlannedProblem> problems;
  std::string strategy;
  Budget budget;
  std::optional<double> target;
  TimingMethod method;
  std::int64_t largest_bytes = 0;  // the most that one of the problems moves
  std::optional<Shard> shard;      // the part of `all_problems` that `problems` is
  std::int64_t all_problems = 0;

  bool emulation() const { return device.kind == DeviceKind::cpu; }
};

// One plan per GPU model among the requested devices. `catalog` outlives the plans. `program` is
// the path of mgtune, which is started as a child process to find out how GPUs can be timed here.
Result<std::vector<SweepPlan>> make_sweep_plans(const SweepRequest& request, Catalog& catalog,
                                                const std::string& program);

}  // namespace mgtune
