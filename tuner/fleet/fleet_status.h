// FleetStatus: reads from the files of a fleet's folder how far its tasks are. It does not ask
// Slurm, so it works on any machine that sees the folder, even after the jobs have left the queue.

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
  // begun: the task has results but has not ended: it runs, waits to be requeued, or was lost.
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
  bool is_merged = false;   // the merged database exists and is newer than all results of the tasks
  double seconds_left = 0;  // an estimate, over all tasks together

  std::int64_t count(FleetTask::State state) const;
  std::int64_t variants() const;
};

std::string to_string(FleetTask::State state);

// Reads all tasks. At most one database is open at a time.
Result<std::vector<FleetGpuStatus>> fleet_status(FileSystem& files, const FleetPlan& plan,
                                                 const std::string& folder);

// "1-3,7" for the tasks that are not done, as `sbatch --array` takes it; "" if all are.
std::string tasks_to_do(const FleetGpuStatus& status);

}  // namespace mgtune
