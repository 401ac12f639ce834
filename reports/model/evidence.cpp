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

// The ceilings of one GPU by one method, and the copies among them by bytes.
struct Ceilings {
  std::vector<CeilingRecord> all;
  std::map<std::int64_t, double> copy_ns;
};
using CeilingsByMethod = std::map<std::pair<std::int64_t, std::string>, Ceilings>;

CeilingsByMethod by_method(const std::vector<CeilingView>& views) {
  CeilingsByMethod methods;
  for (const CeilingView& view : views) {
    const CeilingRecord& ceiling = view.ceiling;
    Ceilings& ceilings = methods[{view.gpu_id, ceiling.method}];
    ceilings.all.push_back(ceiling);
    if (ceiling.kind == "copy" && ceiling.rate > 0) {
      ceilings.copy_ns[ceiling.bytes] = static_cast<double>(ceiling.bytes) * 1e9 / ceiling.rate;
    }
  }
  return methods;
}

// Of the variant's build, had it taken `time_ns`.
Roofline roofline_of(const ReportVariant& variant, const std::string& method, double time_ns,
                     const CeilingsByMethod& methods) {
  static const Ceilings kNone;
  const OutcomeView& view = variant.view;
  if (view.gpu.emulation || is_failure(view.outcome)) return {};
  const auto found = methods.find({view.gpu_id, method});
  const Ceilings& ceilings = found == methods.end() ? kNone : found->second;
  RooflineInput input;
  input.bytes = view.bytes;
  input.flops = view.flops;
  input.median_ns = time_ns;
  input.spill_bytes = view.spill_bytes;
  input.sm_count = view.gpu.sm_count;
  input.counters = variant.counters;
  input.ceilings = ceilings.all;
  const auto copy = ceilings.copy_ns.find(static_cast<std::int64_t>(view.bytes));
  if (copy != ceilings.copy_ns.end()) input.copy_ns = copy->second;
  return roofline(input);
}

bool is_of(const OutcomeView& view, const std::string& build_sha256,
           const std::string& launch_hash) {
  return view.build_sha256 == build_sha256 && view.launch_hash == launch_hash;
}

void add_to_variants(const StoredRows& rows, const CeilingsByMethod& ceilings,
                     std::vector<ReportVariant>& variants) {
  std::map<Key, const CounterView*> counters;
  for (const CounterView& view : rows.counters) {
    counters[{view.gpu_id, view.op, view.problem, view.variant}] = &view;
  }
  for (ReportVariant& variant : variants) {
    const OutcomeView& view = variant.view;
    const auto counted = counters.find({view.gpu_id, view.op, view.problem, view.variant});
    if (counted != counters.end() &&
        is_of(view, counted->second->build_sha256, counted->second->launch_hash)) {
      variant.counters = counted->second->counters;
    }
    if (const std::optional<double> time_ns = median_ns(view)) {
      variant.roofline = roofline_of(variant, view.measurement->method, *time_ns, ceilings);
    }
  }
}

// The times of a final are of the same build and method as the measurement.
void add_finalists(const StoredRows& rows, std::vector<ReportVariant>& variants) {
  std::map<Key, ReportVariant*> by_variant;
  for (ReportVariant& variant : variants) {
    const OutcomeView& view = variant.view;
    if (view.measurement) {
      by_variant[{view.gpu_id, view.op, view.problem, view.measurement->method + view.variant}] =
          &variant;
    }
  }
  for (const FinalView& view : rows.finals) {
    for (const FinalistRecord& finalist : view.final.finalists) {
      const auto found = by_variant.find(
          {view.final.gpu, view.op, view.problem, view.final.method + finalist.variant});
      if (found == by_variant.end() || found->second->view.build_sha256 != finalist.build_sha256) {
        continue;
      }
      found->second->final = finalist;
      found->second->final->samples_ns.clear();
    }
  }
}

// A final speaks of the pick that it decided, not of one that single measurements made later.
bool decided(const FinalRecord& final, const TunedRecord& tuned) {
  return std::ranges::any_of(final.finalists, [&](const FinalistRecord& finalist) {
    return finalist.variant == tuned.variant && finalist.build_sha256 == tuned.build_sha256 &&
           finalist.median_ns == tuned.median_ns;
  });
}

void add_to_picks(const CeilingsByMethod& ceilings, ReportModel& model) {
  std::map<Key, const FinalRecord*> finals;
  for (const FinalView& view : model.finals) {
    finals[{view.final.gpu, view.op, view.problem, view.final.method}] = &view.final;
  }
  std::map<Key, const ReportVariant*> variants;
  for (const ReportVariant& variant : model.variants) {
    const OutcomeView& view = variant.view;
    if (!view.measurement) continue;
    variants[{view.gpu_id, view.op, view.problem, view.measurement->method + view.variant}] =
        &variant;
  }
  for (ReportPick& pick : model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    const auto final = finals.find({tuned.gpu, pick.view.op, pick.view.problem, tuned.method});
    if (final != finals.end() && decided(*final->second, tuned)) {
      pick.noise_floor = final->second->noise_floor;
      for (const FinalistRecord& finalist : final->second->finalists) {
        if (finalist.tied) pick.tied.push_back(finalist.variant);
      }
    }
    const auto variant =
        variants.find({tuned.gpu, pick.view.op, pick.view.problem, tuned.method + tuned.variant});
    if (variant != variants.end()) {
      pick.roofline = roofline_of(*variant->second, tuned.method, tuned.median_ns, ceilings);
    }
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
  const CeilingsByMethod ceilings = by_method(rows.ceilings);
  add_to_variants(rows, ceilings, model.variants);
  add_finalists(rows, model.variants);
  add_to_picks(ceilings, model);
}

}  // namespace mgtune
