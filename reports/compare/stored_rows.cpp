#include <fmt/format.h>

#include <cmath>
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
  return estimate_from_quartiles(m.median_ns, m.q1_ns, m.q3_ns, m.samples);
}

// GPU, operator, problem and method.
using RowPlace = std::tuple<std::int64_t, std::string, std::string, std::string>;

// The time of a finalist is its time in the final: up to 60 samples that alternate with those of
// the others.
void add_final(const FinalRecord& final, const OutcomeView& view, MeasuredRow& row) {
  for (const FinalistRecord& finalist : final.finalists) {
    const bool is_this = finalist.variant == view.variant &&
                         finalist.build_sha256 == view.build_sha256 &&
                         finalist.launch_hash == view.launch_hash;
    if (!is_this) continue;
    row.time = {finalist.median_ns, finalist.median_low_ns, finalist.median_high_ns};
    row.figures.insert(row.figures.end(),
                       {finalist.median_ns, finalist.median_low_ns, finalist.median_high_ns,
                        finalist.ratio, finalist.ratio_low, finalist.ratio_high});
  }
  row.time.noise_floor = final.noise_floor;
}

// A pick whose variant has no outcome: it was imported from a tuned table.
MeasuredRow row_of_pick(const TunedView& view) {
  const TunedRecord& tuned = view.tuned;
  RowName name{view.op,           view.problem, tuned.variant,     view.gpu.model,
               details(view.gpu), tuned.method, view.gpu.emulation};
  return {std::move(name),
          {tuned.median_ns},
          view.gpu.emulation ? Clock::host : Clock::gpu,
          {tuned.median_ns},
          true};
}

}  // namespace

Status read_store(Store& store, MeasuredTable& table) {
  MGTUNE_ASSIGN(const std::vector<FinalView> views, store.finals());
  std::map<RowPlace, const FinalRecord*> finals;
  for (const FinalView& view : views) {
    finals[{view.final.gpu, view.op, view.problem, view.final.method}] = &view.final;
  }
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned());
  std::map<RowPlace, const TunedView*> picks;  // those that no outcome has met yet
  for (const TunedView& view : tuned) {
    picks[{view.tuned.gpu, view.op, view.problem, view.tuned.method}] = &view;
  }
  MGTUNE_ASSIGN(const std::vector<OutcomeView> outcomes, store.outcomes());
  for (const OutcomeView& view : outcomes) {
    if (!median_ns(view) || is_failure(view.outcome)) {
      table.untimed.push_back({name_of(view), std::string(to_string(view.outcome))});
      continue;
    }
    const MeasurementRecord& m = *view.measurement;
    MeasuredRow row{name_of(view), time_of(m)};
    row.figures = {
        m.median_ns,     m.q1_ns,         m.q3_ns, m.min_ns, static_cast<double>(m.samples),
        m.median_low_ns, m.median_high_ns};
    table.gpus.try_emplace(row.name.device_details, view.gpu);
    const auto final = finals.find({view.gpu_id, view.op, view.problem, m.method});
    if (final != finals.end()) add_final(*final->second, view, row);
    // NULL in the store, and 0 in a document. A NaN would not equal itself.
    for (double& figure : row.figures) figure = std::isfinite(figure) ? figure : 0;
    row.time.cut_short = view.outcome == Outcome::raced_out;
    row.clock = view.gpu.emulation ? Clock::host : Clock::gpu;
    const auto pick = picks.find({view.gpu_id, view.op, view.problem, m.method});
    if (pick != picks.end() && pick->second->tuned.variant == view.variant) {
      row.is_pick = true;
      picks.erase(pick);
    }
    table.rows.push_back(std::move(row));
  }
  for (const auto& [place, view] : picks) {
    if (view->tuned.median_ns > 0) table.rows.push_back(row_of_pick(*view));
    table.gpus.try_emplace(details(view->gpu), view->gpu);
  }
  return {};
}

}  // namespace mgtune
