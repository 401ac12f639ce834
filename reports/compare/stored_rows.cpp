#include <fmt/format.h>

#include <map>
#include <tuple>

#include "compare/readers.h"
#include "model/report_model.h"

namespace mgtune {
namespace {

std::string details(const GpuRecord& gpu) {
  return fmt::format("{}, {} SMs, {} bytes of L2, {} bytes of memory, {}", gpu.arch, gpu.sm_count,
                     gpu.l2_bytes, gpu.memory_bytes,
                     gpu.mig_profile.empty() ? "no MIG" : "MIG " + gpu.mig_profile);
}

RowName name_of(const OutcomeView& view) {
  return {view.op,           view.problem,      view.variant,
          view.gpu.model,    details(view.gpu), view.measurement ? view.measurement->method : "",
          view.gpu.emulation};
}

TimeEstimate time_of(const MeasurementRecord& m) {
  if (m.median_high_ns > 0) return {m.median_ns, m.median_low_ns, m.median_high_ns};
  const MedianInterval interval = interval_from_quartiles(m.median_ns, m.q1_ns, m.q3_ns, m.samples);
  return {m.median_ns, interval.low_ns, interval.high_ns};
}

// By GPU, operator, problem and method.
using NoiseFloors =
    std::map<std::tuple<std::int64_t, std::string, std::string, std::string>, double>;

Result<NoiseFloors> read_noise_floors(Store& store) {
  MGTUNE_ASSIGN(const std::vector<FinalView> finals, store.finals());
  NoiseFloors floors;
  for (const FinalView& view : finals) {
    floors[{view.final.gpu, view.op, view.problem, view.final.method}] = view.final.noise_floor;
  }
  return floors;
}

}  // namespace

Status read_store(Store& store, MeasuredTable& table) {
  MGTUNE_ASSIGN(NoiseFloors floors, read_noise_floors(store));
  MGTUNE_ASSIGN(const std::vector<OutcomeView> outcomes, store.outcomes());
  for (const OutcomeView& view : outcomes) {
    if (!median_ns(view) || is_failure(view.outcome)) {
      table.untimed.push_back({name_of(view), std::string(to_string(view.outcome))});
      continue;
    }
    const MeasurementRecord& m = *view.measurement;
    MeasuredRow row{name_of(view), time_of(m)};
    row.time.noise_floor = floors[{view.gpu_id, view.op, view.problem, m.method}];
    row.time.cut_short = view.outcome == Outcome::raced_out;
    row.clock = view.gpu.emulation ? Clock::host : Clock::gpu;
    table.rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace mgtune
