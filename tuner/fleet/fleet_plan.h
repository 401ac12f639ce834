// FleetPlan: which sweeps a cluster runs on which types of GPU, and in how many tasks. It is stored
// as fleet.json in a folder that all nodes share. These are all files of the folder:
//
//   fleet.json                  the plan
//   submit.sh, all.sbatch       the scripts that are submitted (slurm_scripts.h)
//   H200/tasks.sbatch           the job array of a GPU type, and H200/merge.sbatch
//   H200/task-3.log             what a task printed
//   H200/task-3.done, .failed   its exit code and its seconds, once it has ended by itself
//   H200.shard-3-of-16.db       its results; nothing but this task writes to it
//   H200.db                     the merged results of the type; fleet.db those of all types
//
// Plain data and pure functions, except for the functions that read or write the folder.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

inline constexpr std::int64_t kMaxFleetTasks = 10'000;  // of a GPU type

struct FleetGpu {
  std::string name;   // as for --gpu: "H200"
  std::string slurm;  // how Slurm is asked for it: "gres=gpu:h200:1", "constraint=l4"; "" for cpu
  std::int64_t tasks = 1;
  std::int64_t variants = 0;  // an estimate, over all tasks together
  double seconds = 0;         // an estimate, over all tasks together
};

struct FleetPlan {
  std::string program;  // the path of mgtune on the nodes
  std::string time;     // of a task, as Slurm writes it: "1:00:00"
  std::int64_t cpus = 8;
  std::vector<std::string> sbatch;               // further options, such as "--partition=gpu"
  std::vector<std::vector<std::string>> sweeps;  // the words of each `mgtune sweep`
  std::vector<FleetGpu> gpus;
};

// Files of the plan in its folder.
std::string fleet_file(const std::string& folder, const std::string& name);
std::string folder_name(const FleetGpu& gpu);  // "H200"; all but [A-Za-z0-9._-] becomes -
std::string database_of(const std::string& folder, const FleetGpu& gpu);
std::string part_of(const std::string& folder, const FleetGpu& gpu, std::int64_t task);
std::string task_file(const std::string& folder, const FleetGpu& gpu, std::int64_t task,
                      const std::string& ending);  // "log", "done", "failed"

// Seconds of a time limit of Slurm: "30" (minutes), "30:00", "1:00:00", "2-12", "2-12:00:00".
// invalid_argument for anything else.
Result<std::int64_t> slurm_seconds(const std::string& time);

// "H200:gres=gpu:h200:1", "L4:constraint=l4", "H200" (one GPU of any kind), "cpu".
Result<FleetGpu> parse_fleet_gpu(const std::string& text);

// How many tasks finish this work within the limit, with some time to spare.
std::int64_t tasks_for(double seconds, std::int64_t limit_seconds);

std::string fleet_document(const FleetPlan& plan);
// not_found if the folder has no plan; corrupt or incompatible, with the place, for another file.
Result<FleetPlan> read_fleet(FileSystem& files, const std::string& folder);

}  // namespace mgtune
