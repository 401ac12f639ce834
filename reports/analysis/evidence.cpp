#include "analysis/evidence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "store/copy_times.h"

namespace mgtune {
namespace {

// GPU, operator, problem, and the thing that distinguishes their rows: a method, a variant.
using Key = std::tuple<std::int64_t, std::string, std::string, std::string>;

// The ceilings of one GPU by one method, and the copies among them.
struct Ceilings {
  std::vector<CeilingRecord> all;
  CopyTimes copies;
};
using CeilingsByMethod = std::map<std::pair<std::int64_t, std::string>, Ceilings>;

CeilingsByMethod by_method(const std::vector<CeilingView>& views) {
  CeilingsByMethod methods;
  for (const CeilingView& view : views) {
    const CeilingRecord& ceiling = view.ceiling;
    Ceilings& ceilings = methods[{view.gpu_id, ceiling.method}];
    ceilings.all.push_back(ceiling);
    if (ceiling.kind == "copy") ceilings.copies.add(ceiling.bytes, ceiling.rate);
  }
  return methods;
}

// The roofline of the variant's build if it had taken `time_ns`.
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
  input.copy_ns = ceilings.copies.ns(static_cast<std::int64_t>(view.bytes));
  return roofline(input);
}

// By GPU, operator, problem, and method and variant: the places of the variants with a time.
std::map<Key, std::size_t> places_of(const std::vector<ReportVariant>& variants) {
  std::map<Key, std::size_t> places;
  for (std::size_t place = 0; place < variants.size(); ++place) {
    const OutcomeView& view = variants[place].view;
    if (!view.measurement) continue;
    places[{view.gpu_id, view.op, view.problem, view.measurement->method + view.variant}] = place;
  }
  return places;
}

// The times of a final are of the same build and method as the measurement.
void add_finalists(const std::vector<FinalView>& finals, const std::map<Key, std::size_t>& places,
                   std::vector<ReportVariant>& variants) {
  for (const FinalView& view : finals) {
    for (const FinalistRecord& finalist : view.final.finalists) {
      const auto place = places.find(
          {view.final.gpu, view.op, view.problem, view.final.method + finalist.variant});
      if (place == places.end()) continue;
      ReportVariant& variant = variants[place->second];
      if (variant.view.build_sha256 != finalist.build_sha256) continue;
      variant.final = finalist;
      variant.final->samples_ns.clear();
    }
  }
}

// The roofline of a finalist is that of its time in the final, like that of its pick, because
// single measurements drift.
void add_to_variants(const std::vector<CounterView>& counter_views,
                     const CeilingsByMethod& ceilings, std::vector<ReportVariant>& variants) {
  std::map<Key, const CounterView*> counters;
  for (const CounterView& view : counter_views) {
    counters[{view.gpu_id, view.op, view.problem, view.variant}] = &view;
  }
  for (ReportVariant& variant : variants) {
    const OutcomeView& view = variant.view;
    const auto counted = counters.find({view.gpu_id, view.op, view.problem, view.variant});
    if (counted != counters.end() && counted->second->build_sha256 == view.build_sha256 &&
        counted->second->launch_hash == view.launch_hash) {
      variant.counters = counted->second->counters;
    }
    if (const std::optional<double> time_ns = median_ns(view)) {
      const double shown_ns = variant.final ? variant.final->median_ns : *time_ns;
      variant.roofline = roofline_of(variant, view.measurement->method, shown_ns, ceilings);
    }
  }
}

// A final says something about the pick that it decided, not about one that single measurements
// made later.
bool decided(const FinalRecord& final, const TunedRecord& tuned) {
  return std::ranges::any_of(final.finalists, [&](const FinalistRecord& finalist) {
    return finalist.variant == tuned.variant && finalist.build_sha256 == tuned.build_sha256 &&
           finalist.median_ns == tuned.median_ns;
  });
}

// The 95 % interval of the speed-up, which is the ratio of the two medians: it follows from theirs.
// The median of the ratios within the rounds is another figure, which decides the final. It may
// differ from the ratio of the medians by several percent, so its interval does not fit here.
void add_speedup_interval(const FinalistRecord& of_pick, const FinalistRecord& of_default,
                          ReportPick& pick) {
  if (of_pick.median_low_ns <= 0 || of_default.median_low_ns <= 0) return;
  const auto width = [](double larger, double smaller) { return std::log(larger / smaller); };
  // With std::hypot the Python package would need glibc 2.35 in the place of 2.34.
  const auto both = [](double one, double other) { return std::sqrt(one * one + other * other); };
  pick.speedup_low =
      *pick.speedup * std::exp(-both(width(of_default.median_ns, of_default.median_low_ns),
                                     width(of_pick.median_high_ns, of_pick.median_ns)));
  pick.speedup_high =
      *pick.speedup * std::exp(both(width(of_default.median_high_ns, of_default.median_ns),
                                    width(of_pick.median_ns, of_pick.median_low_ns)));
}

// What the final that decided a pick says about it: its interval, and that of its speed-up over the
// default, which ran in the same rounds.
void add_final(const FinalRecord& final, ReportPick& pick) {
  const TunedRecord& tuned = pick.view.tuned;
  pick.noise_floor = final.noise_floor;
  const auto of_default =
      std::ranges::find(final.finalists, tuned.default_variant, &FinalistRecord::variant);
  const bool with_default =
      of_default != final.finalists.end() && of_default->median_ns == tuned.default_median_ns;
  for (const FinalistRecord& finalist : final.finalists) {
    if (finalist.tied) pick.tied.push_back(finalist.variant);
    if (finalist.variant != tuned.variant) continue;
    pick.low_ns = finalist.median_low_ns;
    pick.high_ns = finalist.median_high_ns;
    if (!with_default || !pick.speedup) continue;
    if (tuned.variant == tuned.default_variant) {
      pick.speedup_low = pick.speedup_high = 1;
    } else {
      add_speedup_interval(finalist, *of_default, pick);
    }
  }
}

void add_interval(const OutcomeView& view, ReportPick& pick) {
  if (pick.low_ns || !view.measurement || view.measurement->median_high_ns <= 0) return;
  if (view.measurement->median_ns != pick.view.tuned.median_ns) return;
  pick.low_ns = view.measurement->median_low_ns;
  pick.high_ns = view.measurement->median_high_ns;
}

void add_to_picks(const std::vector<FinalView>& final_views,
                  const std::map<Key, std::size_t>& places, const CeilingsByMethod& ceilings,
                  ReportModel& model) {
  std::map<Key, const FinalView*> finals;
  for (const FinalView& view : final_views) {
    finals[{view.final.gpu, view.op, view.problem, view.final.method}] = &view;
  }
  for (std::size_t p = 0; p < model.picks.size(); ++p) {
    ReportPick& pick = model.picks[p];
    const TunedRecord& tuned = pick.view.tuned;
    const auto row_of = [&](const std::string& variant) -> std::optional<std::size_t> {
      const auto place =
          places.find({tuned.gpu, pick.view.op, pick.view.problem, tuned.method + variant});
      return place == places.end() ? std::nullopt : std::optional(place->second);
    };
    const auto final = finals.find({tuned.gpu, pick.view.op, pick.view.problem, tuned.method});
    if (final != finals.end()) {
      ReportFinal shown{*final->second, p, {}};
      for (const FinalistRecord& finalist : shown.view.final.finalists) {
        shown.rows.push_back(row_of(finalist.variant));
      }
      model.finals.push_back(std::move(shown));
      if (decided(final->second->final, tuned)) add_final(final->second->final, pick);
    }
    for (const std::string& variant : pick.tied) {
      if (const auto row = row_of(variant)) pick.tied_rows.push_back(*row);
    }
    pick.default_row = row_of(tuned.default_variant);
    pick.row = row_of(tuned.variant);
    if (!pick.row) continue;
    const ReportVariant& variant = model.variants[*pick.row];
    add_interval(variant.view, pick);
    pick.roofline = roofline_of(variant, tuned.method, tuned.median_ns, ceilings);
  }
}

}  // namespace

void add_evidence(const StoredRows& rows, ReportModel& model) {
  const std::map<Key, std::size_t> places = places_of(model.variants);
  const CeilingsByMethod ceilings = by_method(rows.ceilings);
  add_finalists(rows.finals, places, model.variants);
  add_to_variants(rows.counters, ceilings, model.variants);
  add_to_picks(rows.finals, places, ceilings, model);
}

}  // namespace mgtune
