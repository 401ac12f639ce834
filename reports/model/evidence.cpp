#include "model/evidence.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace mgtune {
namespace {

// GPU, operator, problem, and what else tells rows of them apart: a method, a variant.
using Key = std::tuple<std::int64_t, std::string, std::string, std::string>;

// The ceilings of one GPU, and the copies among them by method and bytes.
struct GpuCeilings {
  std::vector<CeilingRecord> all;
  std::map<std::pair<std::string, std::int64_t>, double> copy_ns;
};

std::map<std::int64_t, GpuCeilings> by_gpu(const std::vector<CeilingView>& ceilings) {
  std::map<std::int64_t, GpuCeilings> gpus;
  for (const CeilingView& view : ceilings) {
    const CeilingRecord& ceiling = view.ceiling;
    GpuCeilings& gpu = gpus[view.gpu_id];
    gpu.all.push_back(ceiling);
    if (ceiling.kind == "copy" && ceiling.rate > 0) {
      gpu.copy_ns[{ceiling.method, ceiling.bytes}] =
          static_cast<double>(ceiling.bytes) * 1e9 / ceiling.rate;
    }
  }
  return gpus;
}

Roofline roofline_of(const ReportVariant& variant, const GpuCeilings& ceilings) {
  const OutcomeView& view = variant.view;
  const std::optional<double> time_ns = median_ns(view);
  if (view.gpu.emulation || !time_ns || is_failure(view.outcome)) return {};
  RooflineInput input;
  input.bytes = view.bytes;
  input.flops = view.flops;
  input.median_ns = *time_ns;
  input.registers = view.registers;
  input.spill_bytes = view.spill_bytes;
  input.counters = variant.counters;
  input.ceilings = ceilings.all;
  const auto copy =
      ceilings.copy_ns.find({view.measurement->method, static_cast<std::int64_t>(view.bytes)});
  if (copy != ceilings.copy_ns.end()) input.copy_ns = copy->second;
  return roofline(input);
}

void add_to_variants(const StoredRows& rows, std::vector<ReportVariant>& variants) {
  std::map<Key, const CounterView*> counters;
  for (const CounterView& view : rows.counters) {
    counters[{view.gpu_id, view.op, view.problem, view.variant}] = &view;
  }
  const std::map<std::int64_t, GpuCeilings> ceilings = by_gpu(rows.ceilings);
  static const GpuCeilings kNone;
  for (ReportVariant& variant : variants) {
    const OutcomeView& view = variant.view;
    const auto counted = counters.find({view.gpu_id, view.op, view.problem, view.variant});
    const bool is_of_this_build =
        counted != counters.end() && counted->second->build_sha256 == view.build_sha256;
    if (is_of_this_build) variant.counters = counted->second->counters;
    const auto gpu = ceilings.find(view.gpu_id);
    variant.roofline = roofline_of(variant, gpu == ceilings.end() ? kNone : gpu->second);
  }
}

void add_to_picks(ReportModel& model) {
  std::map<Key, const FinalRecord*> finals;
  for (const FinalView& view : model.finals) {
    finals[{view.final.gpu, view.op, view.problem, view.final.method}] = &view.final;
  }
  std::map<Key, const ReportVariant*> variants;
  for (const ReportVariant& variant : model.variants) {
    const OutcomeView& view = variant.view;
    variants[{view.gpu_id, view.op, view.problem, view.variant}] = &variant;
  }
  for (ReportPick& pick : model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    const auto final = finals.find({tuned.gpu, pick.view.op, pick.view.problem, tuned.method});
    if (final != finals.end()) {
      pick.noise_floor = final->second->noise_floor;
      for (const FinalistRecord& finalist : final->second->finalists) {
        if (finalist.tied) pick.tied.push_back(finalist.variant);
      }
    }
    const auto variant = variants.find({tuned.gpu, pick.view.op, pick.view.problem, tuned.variant});
    if (variant != variants.end()) pick.roofline = variant->second->roofline;
  }
}

}  // namespace

void add_evidence(const StoredRows& rows, ReportModel& model) {
  std::map<Key, const FinalView*> finals;
  for (const FinalView& view : rows.finals) {
    finals[{view.final.gpu, view.op, view.problem, view.final.method}] = &view;
  }
  for (const ReportPick& pick : model.picks) {
    const auto final =
        finals.find({pick.view.tuned.gpu, pick.view.op, pick.view.problem, pick.view.tuned.method});
    if (final != finals.end()) model.finals.push_back(*final->second);
  }
  add_to_variants(rows, model.variants);
  add_to_picks(model);
}

}  // namespace mgtune
