// FleetRequest: what a user wants a cluster to tune. plan_fleet() makes a plan from it: it counts
// every space and estimates the time of its variants. The GPUs need not be in this machine: their
// limits come from configs/gpus.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "fleet/fleet_plan.h"

namespace mgtune {

struct FleetRequest {
  std::vector<std::string> kernels;
  // "rows=4096,hidden=4096" for every kernel, "rmsnorm.forward:rows=4096,hidden=4096" for one.
  std::vector<std::string> problems;
  std::vector<std::string> gpus;    // as for parse_fleet_gpu()
  std::vector<std::string> sbatch;  // further options of sbatch
  std::string dtype, shapes, budget, strategy;
  std::string time = "1:00:00", cpus = "8";
  std::string tasks;  // of each GPU type; "": as many as the time limit needs
  std::string program;
};

// invalid_argument for wrong words, before anything is written.
Result<FleetPlan> plan_fleet(const FleetRequest& request, Catalog& catalog);

// Writes the plan and its scripts. Writing the same plan again changes nothing. invalid_argument if
// the folder has another plan, or if its path has characters that have a special meaning for Slurm.
Status write_fleet(FileSystem& files, const FleetPlan& plan, const std::string& folder);

}  // namespace mgtune
