#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/command.h"
#include "core/text.h"
#include "family/catalog.h"
#include "fleet/fleet_request.h"
#include "fleet/fleet_status.h"
#include "json/json.h"
#include "system/file_system.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kListedFailures = 10;

class FleetCommand final : public Command {
 public:
  std::string details() const override {
    return "plan     writes a job array for each type of GPU, a job that merges its results and\n"
           "         times the fastest side by side, and submit.sh, which submits them all.\n"
           "status   says which tasks are done, failed, begun or missing, and what is left.\n"
           "FOLDER lies on a file system that all nodes share. Each task writes a database of its\n"
           "own there. A task that Slurm ends early goes on where it stopped. mgtune itself must "
           "be\n"
           "at the same path on all nodes.\n"
           "--gpu says the model and how Slurm is asked for it. Without --budget every variant is\n"
           "measured.\n"
           "Example: mgtune fleet plan tuned --kernel rmsnorm --kernel swiglu --shapes "
           "llama-3.1-8b\n"
           "             --gpu H200:gres=gpu:h200:1 --gpu L4:constraint=l4 --time 2:00:00\n"
           "         tuned/submit.sh\n"
           "         mgtune fleet status tuned";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("ACTION", action_, {"plan", "status"}, "plan or status");
    arguments.optional_word("FOLDER", folder_, "The folder of the fleet, which all nodes share");
    arguments.values("--kernel", request_.kernels, "NAME|DIR",
                     "Family or operator, or a family's folder (may be repeated)");
    arguments.values("--problem", request_.problems, "DIMS",
                     "rows=4096,hidden=4096 for all kernels, or rmsnorm.forward:rows=4096,... for "
                     "one (may be repeated)");
    arguments.value("--shapes", request_.shapes, "NAME|FILE", "The problems of a model");
    arguments.value("--dtype", request_.dtype, "LIST", "Only these dtypes: bf16,f16,f32");
    arguments.values("--gpu", request_.gpus, "NAME:OPTION",
                     "H200:gres=gpu:h200:1, L4:constraint=l4, H200 (any GPU), or cpu (may be "
                     "repeated)");
    arguments.value("--budget", request_.budget, "N",
                    "Variants per problem, over all tasks (default: every variant)");
    arguments.value("--strategy", request_.strategy, "NAME", "As for 'mgtune sweep'");
    arguments.value("--time", request_.time, "LIMIT",
                    "Time limit of a task, as Slurm writes it (default: 1:00:00)");
    arguments.value("--cpus", request_.cpus, "N", "Processors of a task (default: 8)");
    arguments.value("--tasks", request_.tasks, "N",
                    "Tasks of each GPU type (default: as many as the time limit needs)");
    arguments.values("--sbatch", request_.sbatch, "OPTION",
                     "A further option of every job: --sbatch=--partition=gpu (may be repeated)");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation& invocation) override {
    if (folder_.empty()) {
      return invalid_argument("FOLDER is required\nSee 'mgtune fleet --help'.");
    }
    std::error_code error;
    std::string folder = std::filesystem::absolute(folder_, error).lexically_normal().string();
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return action_ == "plan" ? plan(folder, invocation.program) : status(folder);
  }

 private:
  Result<ExitCode> plan(const std::string& folder, const std::string& program) {
    request_.program = program;
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const FleetPlan plan, plan_fleet(request_, catalog));
    MGTUNE_TRY(write_fleet(FileSystem::real(), plan, folder));
    if (json_) {
      std::cout << fleet_document(plan);
      return ExitCode::ok;
    }
    for (const FleetGpu& gpu : plan.gpus) {
      std::cout << fmt::format("{}: {} of up to {}, {}, about {} of GPU time\n", gpu.name,
                               counted(gpu.tasks, "task"), plan.time,
                               counted(gpu.variants, "variant"), duration_text(gpu.seconds));
    }
    std::cout << "next: " << shell_word(fleet_file(folder, "submit.sh")) << "\n";
    return ExitCode::ok;
  }

  Result<ExitCode> status(const std::string& folder) const {
    MGTUNE_ASSIGN(const FleetPlan plan, read_fleet(FileSystem::real(), folder));
    MGTUNE_ASSIGN(const std::vector<FleetGpuStatus> all,
                  fleet_status(FileSystem::real(), plan, folder));
    bool has_failed = false;
    Json gpus = Json::array();
    for (const FleetGpuStatus& gpu : all) {
      has_failed = has_failed || gpu.count(FleetTask::State::failed) > 0;
      if (json_) {
        gpus.push_back(status_json(gpu, folder));
      } else {
        std::cout << status_text(gpu, folder);
      }
    }
    if (json_) std::cout << Json({{"format", 1}, {"gpus", gpus}}).document_text();
    return has_failed ? ExitCode::partial : ExitCode::ok;
  }

  static std::string status_text(const FleetGpuStatus& status, const std::string& folder) {
    using State = FleetTask::State;
    std::string text = fmt::format(
        "{}: {}: {} done, {} failed, {} begun, {} missing; {} of about {}", status.gpu.name,
        counted(status.gpu.tasks, "task"), status.count(State::done), status.count(State::failed),
        status.count(State::begun), status.count(State::missing),
        counted(status.variants(), "variant"), status.gpu.variants);
    const std::string to_do = tasks_to_do(status);
    if (to_do.empty()) {
      text += status.is_merged ? "; merged in " + database_of(folder, status.gpu) + "\n"
                               : "; not merged\n";
    } else {
      text += "; about " + duration_text(status.seconds_left) + " of GPU time left\n";
    }
    std::size_t listed = 0;
    for (const FleetTask& task : status.tasks) {
      const bool is_failed = task.state == State::failed;
      if ((!is_failed && task.problem.empty()) || ++listed > kListedFailures) continue;
      text += fmt::format("  task {}: {}{}\n", task.task,
                          is_failed ? fmt::format("exit code {}; see {}", task.exit_code,
                                                  task_file(folder, status.gpu, task.task, "log"))
                                    : "",
                          task.problem);
    }
    const std::string scripts = fleet_file(folder, folder_name(status.gpu));
    if (!to_do.empty()) {
      text += fmt::format("  if they are not in the queue: sbatch --array={} {}\n", to_do,
                          shell_word(scripts + "/tasks.sbatch"));
    } else if (!status.is_merged) {
      text += "  if it is not in the queue: sbatch " + shell_word(scripts + "/merge.sbatch") + "\n";
    }
    return text;
  }

  static Json status_json(const FleetGpuStatus& status, const std::string& folder) {
    const auto task_json = [](const FleetTask& task) {
      return Json({{"task", task.task},
                   {"state", to_string(task.state)},
                   {"exit_code", task.exit_code},
                   {"variants", task.variants},
                   {"problem", task.problem}});
    };
    return {{"gpu", status.gpu.name},
            {"database", database_of(folder, status.gpu)},
            {"merged", status.is_merged},
            {"variants", status.variants()},
            {"planned_variants", status.gpu.variants},
            {"seconds_left", status.seconds_left},
            {"tasks", Json::array(status.tasks, task_json)}};
  }

  std::string action_, folder_;
  FleetRequest request_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_fleet_command() { return std::make_unique<FleetCommand>(); }

}  // namespace mgtune
