// SweepPlan: the problems and the options of a sweep on one device, or on GPUs of one model that
// share the work. All plans are made before the first sweep starts, so that a mistake in the
// arguments costs no time. Plain data.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "plan/shard.h"
#include "sweep/planned_problem.h"
#include "sweep/sweep.h"

namespace mgtune {

// What a user asks for, as typed; "" means the default.
struct SweepRequest {
  std::string kernel, gpu = "auto", dtype, shapes, strategy, budget, target, method, shard, retry;
  std::string objective = "time";  // one of sweep_objectives()
  std::vector<std::string> problems;
  std::vector<std::string> where;  // conditions that every variant must fulfil
  std::string try_first;           // a file of variants (plan/variant_list.h)
  std::uint64_t seed = 1;
  std::uint64_t for_rules = 0;  // problems of each operator, at random, for rules; 0: not for rules
  std::string ranges;           // the values to draw from (plan/random_problems.h)
  bool counters = false;
  bool finals = false;      // pick among the results in the database; do not search
  std::uint64_t jobs = 0;   // compile processes; 0: as many as the cores and the memory allow
  bool plans_only = false;  // nothing will run, so the GPU need not be in this machine
  // The model whose kernels `shapes` names. GPUs then use the timing method "graph", unless
  // `method` says otherwise.
  std::string model;
};

struct SweepPlan {
  std::vector<DeviceInfo> devices;  // of one model
  std::vector<PlannedProblem> problems;
  SweepOptions options;
  std::int64_t largest_bytes = 0;  // the largest number of bytes that one of the problems moves
  std::optional<Shard> shard;      // set if `problems` are only a part of all problems
  std::int64_t all_problems = 0;
  double shard_share = 1;  // of the estimated time of all shards; 1 without a shard

  const DeviceInfo& device() const { return devices.front(); }
  bool emulation() const { return device().kind == DeviceKind::cpu; }
};

const std::vector<std::string>& sweep_objectives();  // "time", "energy"

// "500", "60s", "5m", "1h"
Result<Budget> parse_budget(const std::string& text);

// One plan per GPU model among the requested devices. `catalog` must outlive the plans. `program`
// is the path of mgtune. It is started as a child process, here to find out how GPUs can be timed.
// `command` is what the user typed.
Result<std::vector<SweepPlan>> make_sweep_plans(const SweepRequest& request, Catalog& catalog,
                                                const std::string& program,
                                                const std::string& command);

}  // namespace mgtune
