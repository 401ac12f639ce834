#include "fleet/fleet_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/text.h"
#include "json/json.h"
#include "json/json_cursor.h"
#include "json/json_value.h"
#include "plan/shard.h"

namespace mgtune {
namespace {

constexpr std::int64_t kFormat = 1;

// A task needs some time for its start and its default variants, and an estimate may be wrong.
constexpr double kUsedShare = 0.6;

Result<FleetGpu> read_fleet_gpu(const JsonCursor& json) {
  FleetGpu gpu;
  MGTUNE_TRY(json.expect_keys({"name", "slurm", "tasks", "variants", "seconds"}, {}));
  MGTUNE_TRY(json.read("name", gpu.name));
  MGTUNE_TRY(json.read("slurm", gpu.slurm));
  MGTUNE_ASSIGN(gpu.tasks, json.at("tasks").integer(1, kMaxFleetTasks));
  MGTUNE_TRY(json.read("variants", gpu.variants));
  MGTUNE_TRY(json.read("seconds", gpu.seconds));
  return gpu;
}

Result<FleetPlan> read_plan(const JsonCursor& root) {
  FleetPlan plan;
  MGTUNE_TRY(
      root.expect_keys({"format", "program", "time", "cpus", "sbatch", "sweeps", "gpus"}, {}));
  MGTUNE_ASSIGN(const std::int64_t format, root.at("format").integer());
  if (format != kFormat) {
    return incompatible(root.at("format").unexpected("1, as no later format is known").message());
  }
  MGTUNE_TRY(root.read("program", plan.program));
  MGTUNE_TRY(root.read("time", plan.time));
  MGTUNE_TRY(root.read("cpus", plan.cpus));
  MGTUNE_TRY(root.read("sbatch", plan.sbatch));
  MGTUNE_TRY(root.read("sweeps", plan.sweeps));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> gpus, root.at("gpus").elements());
  for (const JsonCursor& json : gpus) {
    MGTUNE_ASSIGN(FleetGpu gpu, read_fleet_gpu(json));
    plan.gpus.push_back(std::move(gpu));
  }
  return plan;
}

}  // namespace

std::string fleet_file(const std::string& folder, const std::string& name) {
  return folder + "/" + name;
}

std::string folder_name(const FleetGpu& gpu) {
  constexpr std::string_view kPlain = "._-";
  std::string name = gpu.name;
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos;
    if (!is_plain) c = '-';
  }
  return name;
}

std::string database_of(const std::string& folder, const FleetGpu& gpu) {
  return fleet_file(folder, folder_name(gpu) + ".db");
}

std::string part_of(const std::string& folder, const FleetGpu& gpu, std::int64_t task) {
  return Shard{task, gpu.tasks}.path(database_of(folder, gpu));
}

std::string task_file(const std::string& folder, const FleetGpu& gpu, std::int64_t task,
                      const std::string& ending) {
  return fleet_file(folder, folder_name(gpu) + "/task-" + std::to_string(task) + "." + ending);
}

Result<std::int64_t> slurm_seconds(const std::string& time) {
  const auto wrong = [&] {
    return invalid_argument("'" + time +
                            "' is no time limit of Slurm: minutes (30), 30:00, 1:00:00, 2-12, or "
                            "2-12:00:00");
  };
  const std::size_t dash = time.find('-');
  std::int64_t days = 0;
  if (dash != std::string::npos) {
    const auto parsed = parse_number<std::int64_t>(std::string_view(time).substr(0, dash));
    if (!parsed || *parsed < 0 || *parsed > 365) return wrong();
    days = *parsed;
  }
  std::vector<std::int64_t> parts;
  std::string_view rest = std::string_view(time).substr(dash == std::string::npos ? 0 : dash + 1);
  while (true) {
    const std::size_t colon = rest.find(':');
    const auto parsed = parse_number<std::int64_t>(rest.substr(0, colon));
    if (!parsed || *parsed < 0 || *parsed > 1'000'000 || parts.size() == 3) return wrong();
    parts.push_back(*parsed);
    if (colon == std::string_view::npos) break;
    rest = rest.substr(colon + 1);
  }
  // After days, the first part is hours. Without days, it is hours if there are three parts,
  // otherwise minutes.
  const bool begins_with_hours = dash != std::string::npos || parts.size() == 3;
  std::int64_t unit = begins_with_hours ? 3600 : 60;
  std::int64_t seconds = days * 24 * 3600;
  for (const std::int64_t part : parts) {
    seconds += part * unit;
    unit /= 60;
  }
  if (seconds <= 0) return wrong();
  return seconds;
}

Result<FleetGpu> parse_fleet_gpu(const std::string& text) {
  FleetGpu gpu;
  const std::size_t colon = text.find(':');
  gpu.name = text.substr(0, colon);
  if (gpu.name.empty()) return invalid_argument("'" + text + "' names no GPU");
  if (colon == std::string::npos) {
    if (gpu.name != "cpu") gpu.slurm = "gres=gpu:1";
    return gpu;
  }
  gpu.slurm = text.substr(colon + 1);
  for (const std::string_view option : {"gres=", "constraint=", "gpus="}) {
    if (gpu.slurm.starts_with(option) && gpu.slurm.size() > option.size()) return gpu;
  }
  return invalid_argument("'" + text +
                          "' does not say how Slurm is asked for the GPU: H200:gres=gpu:h200:1 or "
                          "L4:constraint=l4, or H200 for any GPU of the nodes");
}

std::int64_t tasks_for(double seconds, std::int64_t limit_seconds) {
  const double tasks = std::ceil(seconds / (kUsedShare * static_cast<double>(limit_seconds)));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(tasks), 1, kMaxFleetTasks);
}

std::string fleet_document(const FleetPlan& plan) {
  const auto gpu_json = [](const FleetGpu& gpu) {
    return Json({{"name", gpu.name},
                 {"slurm", gpu.slurm},
                 {"tasks", gpu.tasks},
                 {"variants", gpu.variants},
                 {"seconds", std::round(gpu.seconds)}});
  };
  return Json({{"format", kFormat},
               {"program", plan.program},
               {"time", plan.time},
               {"cpus", plan.cpus},
               {"sbatch", plan.sbatch},
               {"sweeps", plan.sweeps},
               {"gpus", Json::array(plan.gpus, gpu_json)}})
      .document_text();
}

Result<FleetPlan> read_fleet(FileSystem& files, const std::string& folder) {
  const std::string path = fleet_file(folder, "fleet.json");
  if (!files.exists(path)) {
    return not_found(folder + " has no fleet.json: 'mgtune fleet plan " + shell_word(folder) +
                     " ...' writes one");
  }
  MGTUNE_ASSIGN(const std::string text, files.read_file(path));
  const Result<JsonValue> document = parse_json(text);
  if (!document.ok()) return corrupt(path + ": " + document.status().message());
  return read_plan(JsonCursor(path, *document));
}

}  // namespace mgtune
