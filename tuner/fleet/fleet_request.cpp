#include "fleet/fleet_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "fleet/slurm_scripts.h"
#include "plan/shard_cut.h"
#include "plan/sweep_plan.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMaxCpus = 4096;

Result<std::int64_t> count_of(const std::string& option, const std::string& text,
                              std::int64_t max) {
  const auto count = parse_number<std::int64_t>(text);
  if (count && *count >= 1 && *count <= max) return *count;
  return invalid_argument(option + ": '" + text + "' is no number from 1 to " +
                          std::to_string(max));
}

// "rmsnorm.forward" and "rows=4" of "rmsnorm.forward:rows=4"; "" and "rows=4" of "rows=4".
std::pair<std::string, std::string> split_problem(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon > text.find('=')) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// One sweep per kernel, for all GPUs.
Result<std::vector<SweepRequest>> sweeps_of(const FleetRequest& request) {
  std::vector<SweepRequest> sweeps;
  for (const std::string& kernel : request.kernels) {
    SweepRequest& sweep = sweeps.emplace_back();
    std::error_code error;
    sweep.kernel = std::filesystem::exists(kernel, error)
                       ? std::filesystem::absolute(kernel, error).lexically_normal().string()
                       : kernel;
    sweep.dtype = request.dtype;
    sweep.shapes = request.shapes;
    sweep.strategy = request.strategy;
    sweep.budget = request.budget;
    sweep.plans_only = true;
  }
  for (const std::string& text : request.problems) {
    const auto [kernel, problem] = split_problem(text);
    bool is_taken = false;
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
      if (!kernel.empty() && kernel != request.kernels[i]) continue;
      sweeps[i].problems.push_back(problem);
      is_taken = true;
    }
    if (!is_taken) {
      return invalid_argument(fmt::format("--problem {}: --kernel does not name {}", text, kernel));
    }
  }
  return sweeps;
}

std::vector<std::string> words_of(const SweepRequest& sweep) {
  std::vector<std::string> words = {sweep.kernel};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  for (const std::string& problem : sweep.problems) add("--problem", problem);
  add("--shapes", sweep.shapes);
  add("--dtype", sweep.dtype);
  add("--strategy", sweep.strategy);
  add("--budget", sweep.budget);
  return words;
}

// Adds the sweep to the work of a type of GPU. Without a budget every variant is visited, so
// `budget` becomes at least the number of variants of the largest space.
Status add_work(const SweepRequest& sweep, std::int64_t cpus, Catalog& catalog,
                const std::string& program, FleetGpu& gpu, std::vector<ShardCut>& cuts,
                std::int64_t& budget) {
  SweepRequest of_gpu = sweep;
  of_gpu.gpu = gpu.name;
  MGTUNE_ASSIGN(const std::vector<SweepPlan> plans, make_sweep_plans(of_gpu, catalog, program, ""));
  for (const SweepPlan& plan : plans) {
    std::optional<std::int64_t> evaluations = plan.options.budget.evaluations;
    if (sweep.budget.empty()) evaluations.reset();
    for (const PlannedProblem& planned : plan.problems) {
      auto visited = static_cast<std::int64_t>(planned.admissible);
      if (!planned.counted && sweep.budget.empty()) {
        return invalid_argument(planned.problem.op->full_name() + " " + planned.problem.text() +
                                " has too many variants to visit all: give a --budget");
      }
      if (evaluations.has_value()) visited = std::min(visited, *evaluations);
      budget = std::max(budget, visited);
    }
    MGTUNE_ASSIGN(ShardCut cut,
                  ShardCut::make(plan.problems, plan.device().kind, evaluations, cpus));
    gpu.seconds += cut.seconds();
    cuts.push_back(std::move(cut));
  }
  return {};
}

bool is_plain_path(const std::string& path) {
  return std::ranges::none_of(path, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '%' || c == '\\' || c == '"' || c == '\'';
  });
}

}  // namespace

Result<FleetPlan> plan_fleet(const FleetRequest& request, Catalog& catalog) {
  if (request.kernels.empty()) return invalid_argument("--kernel is required");
  if (request.gpus.empty()) return invalid_argument("--gpu is required");
  MGTUNE_ASSIGN(const std::int64_t limit, slurm_seconds(request.time));
  FleetPlan plan;
  plan.program = request.program;
  plan.time = request.time;
  plan.sbatch = request.sbatch;
  MGTUNE_ASSIGN(plan.cpus, count_of("--cpus", request.cpus, kMaxCpus));
  MGTUNE_ASSIGN(std::vector<SweepRequest> sweeps, sweeps_of(request));
  std::vector<std::int64_t> budgets(sweeps.size(), 1);
  std::set<std::string> names;
  for (const std::string& text : request.gpus) {
    MGTUNE_ASSIGN(FleetGpu gpu, parse_fleet_gpu(text));
    if (!names.insert(folder_name(gpu)).second) {
      return invalid_argument("--gpu: " + gpu.name + " is given twice");
    }
    std::vector<ShardCut> cuts;
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
      MGTUNE_TRY(add_work(sweeps[i], plan.cpus, catalog, request.program, gpu, cuts, budgets[i]));
    }
    gpu.tasks = tasks_for(gpu.seconds, limit);
    if (!request.tasks.empty()) {
      MGTUNE_ASSIGN(gpu.tasks, count_of("--tasks", request.tasks, kMaxFleetTasks));
    }
    for (const ShardCut& cut : cuts) gpu.variants += cut.visits(gpu.tasks);
    plan.gpus.push_back(std::move(gpu));
  }
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    if (sweeps[i].budget.empty()) sweeps[i].budget = std::to_string(budgets[i]);
    plan.sweeps.push_back(words_of(sweeps[i]));
  }
  return plan;
}

Status write_fleet(FileSystem& files, const FleetPlan& plan, const std::string& folder) {
  if (!is_plain_path(folder) || !is_plain_path(plan.program)) {
    return invalid_argument("'" + (is_plain_path(folder) ? plan.program : folder) +
                            "' has blanks, quotes, % or \\, which Slurm takes for its own: choose "
                            "another path");
  }
  const std::string path = fleet_file(folder, "fleet.json");
  const std::string document = fleet_document(plan);
  if (files.exists(path)) {
    MGTUNE_ASSIGN(const std::string present, files.read_file(path));
    if (present != document) {
      return invalid_argument(folder +
                              " has the plan of another fleet: choose another folder, or remove "
                              "it with its results");
    }
  }
  MGTUNE_TRY(files.create_directories(folder, 0777));
  for (const FleetGpu& gpu : plan.gpus) {
    MGTUNE_TRY(files.create_directories(fleet_file(folder, folder_name(gpu)), 0777));
  }
  for (const FleetScript& script : slurm_scripts(plan, folder)) {
    const std::string name = fleet_file(folder, script.name);
    MGTUNE_TRY(files.write_file(name, script.content));
    if (!script.is_program) continue;
    std::error_code error;
    using std::filesystem::perms;
    std::filesystem::permissions(name, perms::owner_exec | perms::group_exec | perms::others_exec,
                                 std::filesystem::perm_options::add, error);
    if (error) return io_error("cannot make " + name + " executable: " + error.message());
  }
  return files.write_file(path, document);
}

}  // namespace mgtune
