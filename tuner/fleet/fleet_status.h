// FleetStatus: how far the tasks of a fleet are, from the files in its folder. It asks no Slurm, so
// it works on any machine that sees the folder, also after the jobs have left the queue.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "fleet/fleet_plan.h"
#include "system/file_system.h"

namespace mgtune {

struct FleetTask {
  // begun: there are results, and no end; the task runs, waits to be requeued, or was lost.
  enum class State : std::uint8_t { done, failed, begun, missing };

  std::int64_t task = 1;
  State state = State::missing;
  std::int64_t exit_code = 0;     // of done and failed: 3 means that some variants failed
  std::int64_t variants = 0;      // that have a result
  std::optional<double> seconds;  // of done: since its last start
  std::string problem;            // why its results cannot be read; "" otherwise
};

struct FleetGpuStatus {
  FleetGpu gpu;
  std::vector<FleetTask> tasks;
  bool is_merged = false;   // there is a merged database, younger than the results of the tasks
  double seconds_left = 0;  // about, in all tasks together

  std::int64_t count(FleetTask::State state) const;
  std::int64_t variants() const;
};

std::string to_string(FleetTask::State state);

// Opens one file after the other.
Result<std::vector<FleetGpuStatus>> fleet_status(FileSystem& files, const FleetPlan& plan,
                                                 const std::string& folder);

// "1-3,7" for the tasks that are not done, as `sbatch --array` takes it; "" if all are.
std::string tasks_to_do(const FleetGpuStatus& status);

}  // namespace mgtune
