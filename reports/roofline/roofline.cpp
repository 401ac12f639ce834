#include "roofline/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace mgtune {
namespace {

// Near a ceiling: the rest is start, end and refresh, which cannot be gained.
constexpr double kNearCopy = 0.85;
constexpr double kNearPeak = 0.7;
// Percent of all cycles.
constexpr double kBusyTensor = 70;
constexpr double kBusyIssue = 70;
constexpr double kFewWarps = 25;
// Of all cycles of all SMs.
constexpr double kManyConflicts = 0.2;
// A quarter more than the bytes that must move.
constexpr double kMuchTraffic = 1.25;
// Of all instructions.
constexpr double kManySpills = 0.02;

// The counters by name.
class Counted {
 public:
  explicit Counted(std::span<const CounterRecord> counters) : counters_(counters) {}

  bool any() const { return !counters_.empty(); }
  std::optional<double> get(std::string_view name) const {
    const auto found = std::ranges::find(counters_, name, &CounterRecord::name);
    return found == counters_.end() ? std::nullopt : std::optional(found->value);
  }
  double sum(std::string_view one, std::string_view other) const {
    return get(one).value_or(0) + get(other).value_or(0);
  }

 private:
  std::span<const CounterRecord> counters_;
};

bool uses_tensor_cores(const Counted& counted) {
  return counted.get("tensor_active_percent").value_or(0) > 1 ||
         counted.get("wgmma_instructions").value_or(0) > 0;
}

// The ceiling of arithmetic to compare with: that of the tensor cores if they were active or the
// rate is higher than that of fp32, that of fp32 if they were idle, and unknown otherwise.
const CeilingRecord* peak_of(const RooflineInput& input, const Counted& counted) {
  const double rate = input.flops / input.median_ns * 1e9;
  const CeilingRecord* scalar = nullptr;
  const CeilingRecord* tensor = nullptr;
  for (const CeilingRecord& ceiling : input.ceilings) {
    if (ceiling.kind == "fp32") scalar = &ceiling;
    const bool is_tensor = ceiling.kind.find("mma") != std::string::npos;
    if (is_tensor && (tensor == nullptr || ceiling.rate > tensor->rate)) tensor = &ceiling;
  }
  if (uses_tensor_cores(counted) || (scalar != nullptr && rate > scalar->rate)) return tensor;
  return counted.any() ? scalar : nullptr;
}

std::string percent(double part) { return fmt::format("{:.0f} %", part * 100); }

std::string near_copy(double of_copy) {
  return fmt::format("Memory bandwidth: {} of the copy rate at these bytes (time and cost).",
                     percent(of_copy));
}

std::string near_peak(const Roofline& line) {
  return fmt::format("Arithmetic: {} of the {} peak measured here (time and cost).",
                     percent(*line.of_peak), line.peak);
}

// The share of all cycles of all SMs that shared memory spent on bank conflicts.
double conflict_share(const RooflineInput& input, const Counted& counted) {
  const double cycles = counted.get("elapsed_ns").value_or(0) * 1e-3 *
                        counted.get("sm_clock_mhz").value_or(0) *
                        static_cast<double>(input.sm_count);
  const double conflicts = counted.sum("shared_load_conflicts", "shared_store_conflicts");
  return cycles > 0 ? conflicts / cycles : 0;
}

// The limit according to the counters, the strongest evidence first.
std::string counted_limit(const RooflineInput& input, const Roofline& line,
                          const Counted& counted) {
  if (line.of_copy.value_or(0) >= kNearCopy) return near_copy(*line.of_copy);
  const double tensor = counted.get("tensor_active_percent").value_or(0);
  if (tensor >= kBusyTensor) {
    return fmt::format("Tensor pipe: busy {:.0f} % of the time (tensor_active_percent).", tensor);
  }
  if (line.of_peak.value_or(0) >= kNearPeak) return near_peak(line);
  const double local = counted.sum("local_loads", "local_stores");
  const double instructions = counted.get("instructions").value_or(0);
  if (input.spill_bytes != 0 && instructions > 0 && local > kManySpills * instructions) {
    return fmt::format(
        "Spilled registers: {} of its instructions move local memory (local_loads, "
        "local_stores).",
        percent(local / instructions));
  }
  const double conflicts = conflict_share(input, counted);
  if (conflicts > kManyConflicts) {
    return fmt::format(
        "Bank conflicts: shared memory spends {} of all cycles on them "
        "(shared_load_conflicts, shared_store_conflicts).",
        percent(conflicts));
  }
  const double moved = counted.sum("dram_read_bytes", "dram_write_bytes");
  if (input.bytes > 0 && moved > kMuchTraffic * input.bytes) {
    return fmt::format(
        "Memory traffic: it moves {:.2f} times the bytes that must move "
        "(dram_read_bytes, dram_write_bytes).",
        moved / input.bytes);
  }
  const std::optional<double> issue = counted.get("issue_active_percent");
  if (issue.value_or(0) >= kBusyIssue) {
    return fmt::format(
        "Instructions: the schedulers issue in {:.0f} % of the cycles "
        "(issue_active_percent).",
        *issue);
  }
  const std::optional<double> occupancy = counted.get("occupancy_percent");
  if (occupancy && *occupancy < kFewWarps) {
    return fmt::format(
        "Occupancy: {:.0f} % of the warps that fit are resident "
        "(occupancy_percent).",
        *occupancy);
  }
  if (!occupancy || !issue) return "Not known: the chip does not count what would say it.";
  return fmt::format(
      "Latency: {:.0f} % of the warps that fit are resident, and instructions issue "
      "in {:.0f} % of the cycles (occupancy_percent, issue_active_percent).",
      *occupancy, *issue);
}

// The limit according to time and cost alone.
std::string uncounted_limit(const RooflineInput& input, const Roofline& line) {
  if (line.of_copy.value_or(0) >= kNearCopy) return near_copy(*line.of_copy);
  if (line.of_peak.value_or(0) >= kNearPeak) return near_peak(line);
  if (input.spill_bytes > 0) {
    return fmt::format(
        "Spilled registers, perhaps: {} bytes a thread (the compiler's report). "
        "`mgtune profile` counts.",
        input.spill_bytes);
  }
  if (!line.of_copy && !line.of_peak)
    return "Not known: no ceiling was measured. `mgtune calibrate` does.";
  std::string far;
  if (line.of_copy) far += fmt::format("{} of the copy rate", percent(*line.of_copy));
  if (line.of_peak) {
    far += fmt::format("{}{} of the {} peak", far.empty() ? "" : ", ", percent(*line.of_peak),
                       line.peak);
  }
  return fmt::format(
      "Latency or occupancy: far from its ceilings ({}). `mgtune profile` counts "
      "which.",
      far);
}

}  // namespace

Roofline roofline(const RooflineInput& input) {
  Roofline line;
  if (!(input.median_ns > 0)) return line;
  const Counted counted(input.counters);
  if (input.bytes > 0) line.intensity = input.flops / input.bytes;
  if (input.copy_ns > 0) line.of_copy = input.copy_ns / input.median_ns;
  const CeilingRecord* const peak = peak_of(input, counted);
  if (peak != nullptr && peak->rate > 0 && input.flops > 0) {
    line.peak = peak->kind;
    line.of_peak = input.flops / input.median_ns * 1e9 / peak->rate;
  }
  line.limit = counted.any() ? counted_limit(input, line, counted) : uncounted_limit(input, line);
  return line;
}

}  // namespace mgtune
