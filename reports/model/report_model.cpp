#include "model/report_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/best_so_far.h"
#include "analysis/evidence.h"
#include "core/text.h"
#include "core/version.h"
#include "model/metric_values.h"
#include "model/pick_peers.h"
#include "model/verdict.h"
#include "store/import.h"
#include "system/utc_now.h"
#include "text/compile_log.h"
#include "text/units.h"

namespace mgtune {
namespace {

// GPU, operator and problem.
using PlaceKey = std::tuple<std::int64_t, std::string, std::string>;

struct ProblemKey {
  const GpuRecord& gpu;
  std::int64_t gpu_id;
  const std::string& op;
  const std::string& problem;
};

ProblemKey key_of(const OutcomeView& view) {
  return {view.gpu, view.gpu_id, view.op, view.problem};
}
ProblemKey key_of(const TunedView& view) {
  return {view.gpu, view.tuned.gpu, view.op, view.problem};
}
ProblemKey key_of(const ReportProblem& problem) {
  return {problem.gpu, problem.gpu_id, problem.op, problem.problem};
}

// GPUs before emulation, then by name, operator and problem.
int compare(const ProblemKey& a, const ProblemKey& b) {
  if (a.gpu.emulation != b.gpu.emulation) return a.gpu.emulation ? 1 : -1;
  if (const int order = compare_naturally(a.gpu.model, b.gpu.model); order != 0) return order;
  if (a.gpu_id != b.gpu_id) return a.gpu_id < b.gpu_id ? -1 : 1;
  if (const int order = a.op.compare(b.op); order != 0) return order;
  if (const int order = compare_naturally(a.problem, b.problem); order != 0) return order;
  return a.problem.compare(b.problem);
}

bool outcome_before(const OutcomeView& a, const OutcomeView& b) {
  if (const int order = compare(key_of(a), key_of(b)); order != 0) return order < 0;
  if (is_ranked(a) != is_ranked(b)) return is_ranked(a);
  if (!is_ranked(a)) return std::tie(a.outcome, a.variant) < std::tie(b.outcome, b.variant);
  const MeasurementRecord& x = *a.measurement;
  const MeasurementRecord& y = *b.measurement;
  return std::tie(x.method, a.outcome, x.median_ns, a.variant) <
         std::tie(y.method, b.outcome, y.median_ns, b.variant);
}

std::optional<double> bandwidth(const GpuRecord& gpu, double bytes, double time_ns) {
  if (gpu.emulation || bytes <= 0 || time_ns <= 0) return std::nullopt;
  return bytes / time_ns;  // bytes per nanosecond are GB/s
}

// `outcomes` is in the order of outcome_before(), so the first ok one of a method is its fastest.
std::vector<ReportVariant> make_variants(const std::vector<OutcomeView>& outcomes) {
  std::vector<ReportVariant> variants;
  variants.reserve(outcomes.size());
  const OutcomeView* fastest = nullptr;  // of the current problem and method
  for (const OutcomeView& view : outcomes) {
    const bool is_new =
        fastest == nullptr || compare(key_of(*fastest), key_of(view)) != 0 ||
        (is_ranked(view) && fastest->measurement->method != view.measurement->method);
    if (is_new) fastest = view.outcome == Outcome::ok && is_ranked(view) ? &view : nullptr;
    ReportVariant variant;
    if (const auto time_ns = median_ns(view)) {
      variant.bandwidth_gbps = bandwidth(view.gpu, view.bytes, *time_ns);
      if (fastest != nullptr && is_ranked(view)) {
        variant.slowdown = *time_ns / fastest->measurement->median_ns;
      }
    }
    variant.view = view;
    variants.push_back(std::move(variant));
  }
  return variants;
}

std::vector<ReportProblem> group_by_problem(const std::vector<ReportVariant>& variants) {
  std::vector<ReportProblem> problems;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const bool is_new =
        i == 0 || compare(key_of(variants[i - 1].view), key_of(variants[i].view)) != 0;
    if (is_new) {
      const OutcomeView& view = variants[i].view;
      problems.push_back(
          {i, 0, view.gpu, view.gpu_id, view.op, view.problem, view.bytes, view.flops, {}});
    }
    ++problems.back().count;
  }
  return problems;
}

bool problem_before(const ReportProblem& a, const ReportProblem& b) {
  return compare(key_of(a), key_of(b)) < 0;
}

// Both are in the same order. If the store does not have the variants of a pick, the pick adds a
// problem without variants.
void place_picks(ReportModel& model) {
  std::vector<ReportProblem>& problems = model.problems;
  const auto place_of = [&](const TunedView& view) {
    const ReportProblem wanted{
        0, 0, view.gpu, view.tuned.gpu, view.op, view.problem, view.bytes, view.flops, {}};
    const auto place = std::ranges::lower_bound(problems, wanted, problem_before);
    if (place != problems.end() && !problem_before(wanted, *place)) return place;
    return problems.insert(place, wanted);
  };
  for (const ReportPick& pick : model.picks) place_of(pick.view);
  for (std::size_t p = 0; p < problems.size(); ++p) {
    for (std::size_t i = 0; i < problems[p].count; ++i) {
      model.variants[problems[p].first + i].problem = p;
    }
  }
  for (ReportPick& pick : model.picks) {
    pick.problem = static_cast<std::size_t>(place_of(pick.view) - problems.begin());
    for (const ReportVariant& variant : model.variants_of(problems[pick.problem])) {
      pick.variants_ok += variant.view.outcome == Outcome::ok ? 1 : 0;
      pick.variants_failed += is_failure(variant.view.outcome) ? 1 : 0;
    }
  }
}

std::vector<OutcomeCount> count_outcomes(const std::vector<ReportVariant>& variants) {
  std::map<Outcome, std::int64_t> counts;
  for (const ReportVariant& variant : variants) ++counts[variant.view.outcome];
  std::vector<OutcomeCount> result;
  result.reserve(counts.size());
  for (const auto& [outcome, count] : counts) result.push_back({outcome, count});
  return result;
}

std::vector<ReportFailure> group_failures(const std::vector<ReportVariant>& variants) {
  std::map<std::pair<Outcome, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const OutcomeView& view = variants[i].view;
    if (is_failure(view.outcome)) groups[{view.outcome, view.message}].push_back(i);
  }
  std::vector<ReportFailure> failures;
  failures.reserve(groups.size());
  for (auto& [key, indices] : groups) {
    failures.push_back({key.first, key.second, std::move(indices)});
  }
  std::ranges::stable_sort(failures, [](const ReportFailure& a, const ReportFailure& b) {
    if (a.outcome != b.outcome) return a.outcome < b.outcome;
    return a.variants.size() > b.variants.size();
  });
  return failures;
}

PickStanding standing_of(const TunedRecord& tuned) {
  if (tuned.tie) return PickStanding::tie;
  if (tuned.variant == tuned.default_variant) return PickStanding::default_fastest;
  return tuned.default_median_ns > 0 ? PickStanding::faster : PickStanding::no_default;
}

ReportPick make_pick(TunedView view) {
  ReportPick pick;
  const TunedRecord& tuned = view.tuned;
  pick.standing = standing_of(tuned);
  if (tuned.default_median_ns > 0 && tuned.median_ns > 0) {
    pick.speedup = tuned.default_median_ns / tuned.median_ns;
  }
  pick.bandwidth_gbps = bandwidth(view.gpu, view.bytes, tuned.median_ns);
  if (view.copy_ns > 0 && tuned.median_ns > 0) pick.of_copy = view.copy_ns / tuned.median_ns;
  pick.view = std::move(view);
  return pick;
}

bool pick_before(const ReportPick& a, const ReportPick& b) {
  const int order = compare(key_of(a.view), key_of(b.view));
  return order != 0 ? order < 0 : a.view.tuned.method < b.view.tuned.method;
}

std::vector<ReportPick> make_picks(std::vector<TunedView> tuned) {
  std::vector<ReportPick> picks;
  picks.reserve(tuned.size());
  for (TunedView& view : tuned) picks.push_back(make_pick(std::move(view)));
  std::ranges::sort(picks, pick_before);
  return picks;
}

std::set<std::int64_t> imported_sweeps(const std::vector<SweepView>& sweeps) {
  std::set<std::int64_t> imports;
  for (const SweepView& view : sweeps) {
    if (view.sweep.strategy == kImportStrategy) imports.insert(view.sweep.id);
  }
  return imports;
}

// A recording has times but no picks, so its fastest variant is shown as the pick, without a
// default. A problem that a sweep of this store measured has its own pick, or none because the
// sweep was stopped.
void add_fastest_of_recordings(const std::set<std::int64_t>& imports,
                               const std::vector<ReportVariant>& variants,
                               const LeavesOut& leaves_out, std::vector<TunedView>& tuned) {
  std::set<PlaceKey> picked;
  for (const TunedView& view : tuned) picked.emplace(view.tuned.gpu, view.op, view.problem);
  std::set<std::pair<PlaceKey, std::string>> seen;
  for (const ReportVariant& variant : variants) {
    const OutcomeView& view = variant.view;
    if (view.outcome != Outcome::ok || !is_ranked(view)) continue;
    const std::string& method = view.measurement->method;
    const PlaceKey place{view.gpu_id, view.op, view.problem};
    if (picked.contains(place) || seen.contains({place, method})) continue;
    if (!imports.contains(view.sweep)) {
      seen.emplace(place, method);
      continue;
    }
    TunedView fastest;
    fastest.tuned.sweep = view.sweep;
    fastest.tuned.gpu = view.gpu_id;
    fastest.tuned.variant = view.variant;
    fastest.tuned.build_sha256 = view.build_sha256;
    fastest.tuned.method = method;
    fastest.tuned.median_ns = view.measurement->median_ns;
    fastest.gpu = view.gpu;
    fastest.op = view.op;
    fastest.problem = view.problem;
    fastest.bytes = view.bytes;
    fastest.flops = view.flops;
    if (leaves_out && leaves_out(fastest)) continue;
    seen.emplace(place, method);
    tuned.push_back(std::move(fastest));
  }
}

void mark_rows(const std::set<std::int64_t>& imports, ReportModel& model) {
  std::set<std::pair<std::size_t, std::string>> picked, defaults;  // problem and variant
  for (ReportPick& pick : model.picks) {
    const TunedRecord& tuned = pick.view.tuned;
    picked.emplace(pick.problem, tuned.variant);
    defaults.emplace(pick.problem, tuned.default_variant);
    pick.imported = imports.contains(tuned.sweep);
  }
  for (ReportVariant& variant : model.variants) {
    const std::pair key(variant.problem, variant.view.variant);
    variant.is_pick = picked.contains(key);
    variant.is_default = defaults.contains(key);
    variant.imported = imports.contains(variant.view.sweep);
  }
}

void add_spaces(std::vector<SpaceView> spaces, ReportModel& model) {
  std::set<PlaceKey> shown;
  for (const ReportProblem& problem : model.problems) {
    if (problem.count > 0) shown.emplace(problem.gpu_id, problem.op, problem.problem);
  }
  std::erase_if(spaces, [&](const SpaceView& space) {
    return !shown.contains({space.gpu_id, space.op, space.problem});
  });
  model.spaces = std::move(spaces);
}

void add_compile_logs(const std::vector<BuildLogView>& logs, ReportModel& model) {
  std::map<std::string_view, std::string_view> of_build;
  for (const BuildLogView& view : logs) of_build.emplace(view.sha256, view.log);
  std::map<std::string, std::size_t> places;
  for (ReportVariant& variant : model.variants) {
    const auto found = of_build.find(variant.view.build_sha256);
    if (found == of_build.end()) continue;
    std::string log = readable_log(found->second);
    if (log.empty()) continue;
    const auto [entry, is_new] = places.try_emplace(log, model.compile_logs.size());
    if (is_new) model.compile_logs.push_back(std::move(log));
    variant.compile_log = entry->second;
  }
}

bool shows_emulation(const ReportModel& model) {
  const auto emulated = [](const auto& row) { return row.view.gpu.emulation; };
  return std::ranges::any_of(model.picks, emulated) ||
         std::ranges::any_of(model.variants, emulated);
}

}  // namespace

std::string_view to_string(PickStanding standing) {
  static constexpr std::array<std::string_view, 4> kNames = {
      // in the order of PickStanding
      "faster", "tie", "default_fastest", "no_default"};
  return kNames[static_cast<std::size_t>(standing)];
}

const ReportPick* find_pick(const ReportModel& model, std::size_t problem,
                            const std::string& method) {
  const auto found = std::ranges::find_if(model.picks, [&](const ReportPick& pick) {
    return pick.problem == problem && pick.view.tuned.method == method;
  });
  return found == model.picks.end() ? nullptr : &*found;
}

std::vector<std::span<const ReportPick>> picks_by_operator(const ReportModel& model) {
  std::vector<std::span<const ReportPick>> groups;
  for (std::span<const ReportPick> rest = model.picks; !rest.empty();) {
    const TunedView& first = rest.front().view;
    const auto end = std::ranges::find_if(rest, [&](const ReportPick& pick) {
      return pick.view.tuned.gpu != first.tuned.gpu || pick.view.op != first.op;
    });
    groups.push_back(rest.first(static_cast<std::size_t>(end - rest.begin())));
    rest = rest.subspan(groups.back().size());
  }
  return groups;
}

bool is_ranked(const OutcomeView& view) { return median_ns(view) && !is_failure(view.outcome); }

bool is_failure(Outcome outcome) { return outcome != Outcome::ok && outcome != Outcome::raced_out; }

std::string device_text(const GpuRecord& gpu) {
  return gpu.model + (gpu.emulation ? " (emulation)" : "");
}

std::vector<CeilingShare> ceiling_shares(const ReportPick& pick) {
  std::vector<CeilingShare> shares;
  if (pick.view.gpu.emulation) return shares;
  if (pick.of_copy) {
    const std::string bytes = bytes_text(static_cast<std::int64_t>(pick.view.bytes));
    shares.push_back({fmt::format("copy of {}", bytes), *pick.of_copy});
  }
  if (pick.roofline.of_peak) {
    shares.push_back({fmt::format("{} peak", pick.roofline.peak), *pick.roofline.of_peak});
  }
  std::ranges::stable_sort(shares, std::ranges::greater{}, &CeilingShare::fraction);
  return shares;
}

std::string share_text(const CeilingShare& share) {
  return fmt::format("{} of the {}", percent_text(share.fraction), share.name);
}

std::string standing_text(const ReportPick& pick) {
  if (pick.standing == PickStanding::tie) return "tie";
  if (pick.standing == PickStanding::default_fastest) return "default";
  const bool is_faster = pick.standing == PickStanding::faster && pick.speedup;
  return is_faster ? ratio_text(*pick.speedup) : "";
}

std::optional<double> median_ns(const OutcomeView& view) {
  if (!view.measurement || view.measurement->median_ns <= 0) return std::nullopt;
  return view.measurement->median_ns;
}

ReportModel make_report_model(StoredRows rows, const LeavesOut& leaves_out) {
  ReportModel model;
  model.generated_at = utc_now();
  model.mgtune_version = mgtune_version();
  std::ranges::sort(rows.outcomes, outcome_before);
  model.variants = make_variants(rows.outcomes);
  model.problems = group_by_problem(model.variants);
  model.counts = count_outcomes(model.variants);
  model.failures = group_failures(model.variants);
  const std::set<std::int64_t> imports = imported_sweeps(rows.sweeps);
  if (leaves_out) std::erase_if(rows.tuned, leaves_out);
  add_fastest_of_recordings(imports, model.variants, leaves_out, rows.tuned);
  model.picks = make_picks(std::move(rows.tuned));
  place_picks(model);
  mark_rows(imports, model);
  add_evaluation_order(rows.sweeps, model);
  add_evidence(rows, model);
  model.ceilings = std::move(rows.ceilings);
  add_spaces(std::move(rows.spaces), model);
  model.sweeps = std::move(rows.sweeps);
  std::ranges::sort(model.sweeps, [](const SweepView& a, const SweepView& b) {
    return std::tie(b.sweep.started_at, b.sweep.id) < std::tie(a.sweep.started_at, a.sweep.id);
  });
  add_peers(rows.peers, model);
  add_metrics(rows.metrics, model);
  add_compile_logs(rows.build_logs, model);
  model.emulation = shows_emulation(model);
  model.verdict = verdict_sentences(model);
  return model;
}

Result<ReportModel> read_report_model(Store& store) {
  MGTUNE_ASSIGN(StoredRows rows, read_stored_rows(store));
  return make_report_model(std::move(rows));
}

}  // namespace mgtune
