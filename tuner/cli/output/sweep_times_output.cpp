#include "cli/output/sweep_times_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

double seconds_of(GpuTimes::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

double share_of(double seconds, double whole) { return whole > 0 ? seconds / whole : 0; }

std::vector<std::string> row_of(const SweepTimes& times, GpuPhase phase) {
  std::vector<std::string> row = {std::string(word_of(phase))};
  for (const SweepTimes::Gpu& gpu : times.gpus) {
    const double seconds = seconds_of(gpu.times[static_cast<std::size_t>(phase)]);
    row.push_back(fmt::format("{:.3f}", seconds));
    row.push_back(percent_text(share_of(seconds, seconds_of(times.wall))));
  }
  row.emplace_back(description_of(phase));
  return row;
}

}  // namespace

std::string sweep_times_text(const SweepTimes& times) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns = {{"phase"}};
  for (const SweepTimes::Gpu& gpu : times.gpus) {
    columns.push_back({gpu.device + " [s]", Align::right});
    columns.push_back({"share", Align::right});
  }
  columns.push_back({"what the GPU does, or why it is idle"});
  TextTable table(columns);
  for (std::size_t i = 0; i < kGpuPhases; ++i) {
    const bool took_time = std::ranges::any_of(times.gpus, [&](const SweepTimes::Gpu& gpu) {
      return gpu.times[i] > GpuTimes::Clock::duration::zero();
    });
    if (took_time) table.add_row(row_of(times, static_cast<GpuPhase>(i)));
  }
  const double wall = seconds_of(times.wall);
  return fmt::format("where {:.3f} s of wall time went:\n{}{}, at work {} of the time\n", wall,
                     table.text(2), fmt::format("compile processes: {}", times.compile_processes),
                     percent_text(share_of(times.compile_seconds,
                                           wall * static_cast<double>(times.compile_processes))));
}

Json sweep_times_json(const SweepTimes& times) {
  Json gpus = Json::array();
  for (const SweepTimes::Gpu& gpu : times.gpus) {
    Json phases = Json::object();
    for (std::size_t i = 0; i < kGpuPhases; ++i) {
      phases[word_of(static_cast<GpuPhase>(i))] = seconds_of(gpu.times[i]);
    }
    gpus.push_back({{"device", gpu.device}, {"phases", phases}});
  }
  return {
      {"seconds", seconds_of(times.wall)},
      {"gpus", gpus},
      {"compile", {{"processes", times.compile_processes}, {"seconds", times.compile_seconds}}}};
}

}  // namespace mgtune
