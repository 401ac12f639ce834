// The scripts that a fleet submits to Slurm. Slurm distributes the work; nothing here does. Pure.
//
// A task that Slurm ends is queued again and continues where it stopped, because its sweep does.
// Slurm requeues it after a preemption or the failure of a node, and the task requeues itself
// shortly before its time limit. Cancelling a job ends it for good.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fleet/fleet_plan.h"

namespace mgtune {

struct FleetScript {
  std::string name;  // relative to the folder: "H200/tasks.sbatch"
  std::string content;
  bool is_program = false;  // a user starts it
};

// `folder` is the absolute path of the folder.
std::vector<FleetScript> slurm_scripts(const FleetPlan& plan, const std::string& folder);

}  // namespace mgtune
