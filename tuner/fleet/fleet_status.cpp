#include "fleet/fleet_status.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "store/store.h"

namespace mgtune {
namespace {

// Reads "CODE SECONDS". False if there is no such file.
bool read_end(FileSystem& files, const std::string& path, FleetTask& task) {
  if (!files.exists(path)) return false;
  const Result<std::string> text = files.read_file(path);
  std::istringstream words(text.ok() ? *text : "");
  double seconds = 0;
  words >> task.exit_code >> seconds;
  if (words) task.seconds = seconds;
  return true;
}

FleetTask read_task(FileSystem& files, const std::string& folder, const FleetGpu& gpu,
                    std::int64_t number) {
  FleetTask task;
  task.task = number;
  const std::string part = part_of(folder, gpu, number);
  if (files.exists(part)) {
    task.state = FleetTask::State::begun;
    Result<Store> store = Store::open(part, Store::Mode::read_only);
    Result<std::vector<OutcomeView>> rows =
        store.ok() ? store->outcomes() : std::move(store).take_status();
    if (rows.ok()) {
      task.variants = std::ssize(*rows);
    } else {
      task.problem = rows.status().message();
    }
  }
  if (read_end(files, task_file(folder, gpu, number, "failed"), task)) {
    task.state = FleetTask::State::failed;
  }
  if (read_end(files, task_file(folder, gpu, number, "done"), task)) {
    task.state = FleetTask::State::done;
  }
  return task;
}

// The plan's estimate for the remaining work, corrected by the time that finished tasks took.
double seconds_left(const FleetGpuStatus& status) {
  const double of_task = status.gpu.seconds / static_cast<double>(status.gpu.tasks);
  const double variants = std::max(
      1.0, static_cast<double>(status.gpu.variants) / static_cast<double>(status.gpu.tasks));
  double left = 0, measured = 0;
  std::int64_t timed = 0;
  for (const FleetTask& task : status.tasks) {
    if (task.state == FleetTask::State::done) {
      if (!task.seconds.has_value()) continue;
      measured += *task.seconds;
      ++timed;
    } else {
      left += std::clamp(1 - static_cast<double>(task.variants) / variants, 0.0, 1.0);
    }
  }
  return left * (timed > 0 ? measured / static_cast<double>(timed) : of_task);
}

bool is_younger(const std::string& database, const std::string& folder, const FleetGpu& gpu) {
  std::error_code error;
  const auto merged = std::filesystem::last_write_time(database, error);
  if (error) return false;
  for (std::int64_t task = 1; task <= gpu.tasks; ++task) {
    const auto part = std::filesystem::last_write_time(part_of(folder, gpu, task), error);
    if (!error && part > merged) return false;
  }
  return true;
}

}  // namespace

std::int64_t FleetGpuStatus::count(FleetTask::State state) const {
  return std::ranges::count(tasks, state, &FleetTask::state);
}

std::int64_t FleetGpuStatus::variants() const {
  std::int64_t sum = 0;
  for (const FleetTask& task : tasks) sum += task.variants;
  return sum;
}

std::string to_string(FleetTask::State state) {
  switch (state) {
    case FleetTask::State::done:
      return "done";
    case FleetTask::State::failed:
      return "failed";
    case FleetTask::State::begun:
      return "begun";
    case FleetTask::State::missing:
      return "missing";
  }
  return "";
}

Result<std::vector<FleetGpuStatus>> fleet_status(FileSystem& files, const FleetPlan& plan,
                                                 const std::string& folder) {
  std::vector<FleetGpuStatus> all;
  for (const FleetGpu& gpu : plan.gpus) {
    FleetGpuStatus& status = all.emplace_back();
    status.gpu = gpu;
    for (std::int64_t task = 1; task <= gpu.tasks; ++task) {
      status.tasks.push_back(read_task(files, folder, gpu, task));
    }
    status.is_merged = is_younger(database_of(folder, gpu), folder, gpu);
    status.seconds_left = seconds_left(status);
  }
  return all;
}

std::string tasks_to_do(const FleetGpuStatus& status) {
  std::string text;
  const std::vector<FleetTask>& tasks = status.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].state == FleetTask::State::done) continue;
    std::size_t last = i;
    while (last + 1 < tasks.size() && tasks[last + 1].state != FleetTask::State::done) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(tasks[i].task);
    if (last > i) text += "-" + std::to_string(tasks[last].task);
    i = last;
  }
  return text;
}

}  // namespace mgtune
