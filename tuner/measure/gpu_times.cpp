#include "measure/gpu_times.h"

#include <algorithm>
#include <utility>

namespace mgtune {
namespace {

struct PhaseText {
  std::string_view word, description;
};

// In the order of the enum.
constexpr std::array<PhaseText, kGpuPhases> kPhaseTexts = {{
    {"load", "reading builds from the cache and loading them"},
    {"check", "comparing results with the reference"},
    {"measure", "timing launches"},
    {"final", "finals"},
    {"ceilings", "ceilings of the GPU"},
    {"unload", "unloading builds, writing replies"},
    {"start", "starting workers and checking the GPU"},
    {"failed", "variants that crashed, hung or failed"},
    {"handover", "waiting for the sweep to read a reply or to send a request"},
    {"idle: compile", "waiting for compile processes"},
    {"idle: default", "waiting for the result of the default"},
    {"idle: decision", "waiting for a final or a ceiling on another GPU"},
    {"idle: alone", "a variant that ended its worker runs alone"},
    {"idle: last", "other GPUs measure the last variants of a problem"},
    {"idle: store", "waiting for the database"},
    {"idle: search", "waiting for the search"},
    {"idle: sweep", "waiting for the rest of the sweep's own work"},
}};

}  // namespace

std::string_view word_of(GpuPhase phase) {
  return kPhaseTexts[static_cast<std::size_t>(phase)].word;
}

std::string_view description_of(GpuPhase phase) {
  return kPhaseTexts[static_cast<std::size_t>(phase)].description;
}

GpuTimes::GpuTimes(std::size_t gpus, Clock::time_point now)
    : start_(now), gpus_(gpus, Gpu{.since = now}) {}

void GpuTimes::begin(std::size_t gpu, Clock::time_point now) {
  Gpu& at = gpus_[gpu];
  at.times[static_cast<std::size_t>(cause_)] += now - std::exchange(at.since, now);
  at.is_busy = true;
}

void GpuTimes::end(std::size_t gpu, const std::vector<Part>& parts, GpuPhase rest,
                   Clock::time_point now) {
  Gpu& at = gpus_[gpu];
  Clock::duration left = now - std::exchange(at.since, now);
  for (const Part& part : parts) {
    const Clock::duration time = std::clamp(part.time, Clock::duration::zero(), left);
    at.times[static_cast<std::size_t>(part.phase)] += time;
    left -= time;
  }
  at.times[static_cast<std::size_t>(rest)] += left;
  at.is_busy = false;
}

GpuPhase GpuTimes::set_cause(GpuPhase cause, Clock::time_point now) {
  for (Gpu& gpu : gpus_) {
    if (gpu.is_busy) continue;
    gpu.times[static_cast<std::size_t>(cause_)] += now - std::exchange(gpu.since, now);
  }
  return std::exchange(cause_, cause);
}

GpuTimes::Times GpuTimes::of(std::size_t gpu, Clock::time_point now) const {
  const Gpu& at = gpus_[gpu];
  Times times = at.times;
  const GpuPhase phase = at.is_busy ? GpuPhase::measure : cause_;
  times[static_cast<std::size_t>(phase)] += now - at.since;
  return times;
}

}  // namespace mgtune
