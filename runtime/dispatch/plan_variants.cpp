#include "dispatch/plan_variants.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "selection/admission.h"
#include "selection/selector.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxTuned = 5;  // variants; the rest of kMaxPlanVariants is the ladder's
constexpr std::size_t kMaxPoints = DispatchTable::kMaxRows;  // of the ranges that are looked at
constexpr std::size_t kSteps = 16;                           // between their ends
constexpr double kSmallestGain = 1e-3;  // of the risk, for one more variant to be loaded

constexpr const char* kOtherBuild = ", with another build of the same variant";
constexpr const char* kOtherDriver = ", measured with another driver";

using VariantGain = std::pair<Variant, double>;

struct Wanted {
  Variant variant;
  bool is_default;  // wanted because it is in the ladder, whatever the evidence says
};

// `fraction` of the way from the low to the high end, in the logarithm.
std::int64_t between(const DimRange& range, double fraction) {
  const auto log_of = [](std::int64_t end) {
    return std::log(static_cast<double>(std::max<std::int64_t>(end, 1)));
  };
  const double at = log_of(range.low) + fraction * (log_of(range.high) - log_of(range.low));
  return std::clamp(static_cast<std::int64_t>(std::exp(at) + 1e-6), range.low, range.high);
}

// The problems by which a plan is judged, at most kMaxPoints, each once: the ends and the geometric
// middle of its ranges, then `measured` (the nearest first) clamped into the ranges, then `steps`
// between the ends. A point that breaks a constraint of the operator is left out, because nobody
// can ask for it. If all are left out, the result is the first failure.
Result<std::vector<Problem>> plan_points(const PlanRequest& request,
                                         const std::vector<const Problem*>& measured,
                                         std::size_t steps) {
  std::vector<Problem> points;
  Status first_failure;
  const auto add = [&](const auto& value_in) {
    std::map<std::string, std::int64_t> dims;
    std::size_t index = 0;
    for (const Dim& dim : request.binding.op->dims) {
      if (dim.kind == DimKind::fixed) continue;
      const DimRange& range = request.ranges[index++];
      if (range.low <= range.high) dims[dim.name] = value_in(range, std::size_t(dim.slot));
    }
    Result<Problem> point = complete(request.binding, dims);
    if (!point.ok()) {
      if (first_failure.ok()) first_failure = std::move(point).take_status();
      return;
    }
    const bool known = std::ranges::find(points, point->slots, &Problem::slots) != points.end();
    if (!known && points.size() < kMaxPoints) points.push_back(*std::move(point));
  };
  add([](const DimRange& range, std::size_t) { return range.high; });
  add([](const DimRange& range, std::size_t) { return range.low; });
  add([](const DimRange& range, std::size_t) { return between(range, 0.5); });
  for (const Problem* problem : measured) {
    add([&](const DimRange& range, std::size_t slot) {
      return std::clamp(problem->slots[slot], range.low, range.high);
    });
  }
  for (std::size_t step = 1; step < steps; ++step) {
    const double fraction = static_cast<double>(step) / static_cast<double>(steps);
    add([&](const DimRange& range, std::size_t) { return between(range, fraction); });
  }
  if (points.empty() && !first_failure.ok()) return first_failure;
  return points;
}

class PlanLoader {
 public:
  explicit PlanLoader(const PlanRequest& request)
      : request_(request),
        op_(*request.binding.op),
        info_(request.modules.device().info()),
        tuned_distances_(tuned_distances(request.binding, info_, request.evidence.tuned)) {}

  Result<PlanVariants> load() {
    MGTUNE_TRY(find_points());
    rank_points();
    std::vector<Wanted> wanted;
    for (bool complete = false; !complete;) {
      wanted = choose();
      complete =
          std::all_of(wanted.begin(), wanted.end(), [&](const Wanted& one) { return obtain(one); });
    }
    if (wanted.empty()) return nothing_serves();
    PlanVariants result;
    for (const Wanted& one : wanted)
      result.variants.push_back(std::move(loaded_[text(one.variant)]));
    add_rows(result);
    for (auto& [variant, failure] : failed_)
      result.left_out.push_back(variant + ": " + failure.message());
    return result;
  }

 private:
  std::string text(const Variant& variant) const { return variant_text(op_, variant); }
  // It did not fail here, neither while it was built and loaded nor in the measurements.
  bool is_usable(const Variant& variant) const {
    return !failed_.contains(text(variant)) && !selector_->has_failed(variant);
  }

  Status find_points() {
    std::vector<const Problem*> measured;
    for (const TunedDistance& pick : tuned_distances_) measured.push_back(&pick.entry->problem);
    MGTUNE_ASSIGN(points_, plan_points(request_, measured, 0));
    selector_.emplace(points_[points_.size() / 2], info_, request_.evidence);
    if (!selector_->has_model()) return {};
    MGTUNE_ASSIGN(points_, plan_points(request_, measured, kSteps));
    selector_->focus_on(std::span(points_).first(std::min<std::size_t>(points_.size(), 3)));
    return {};
  }

  void rank_points() {
    for (const Problem& point : points_) {
      ranked_.push_back(selector_->rank(point));
      std::erase_if(ranked_.back(), [](const SelectedVariant& candidate) {
        return candidate.step == SelectionStep::default_ladder;
      });
    }
  }

  // The same point with every dim that has a default, such as a stride, one larger.
  Problem with_odd_strides(Problem point) const {
    for (const Dim& dim : op_.dims) {
      if (dim.kind != DimKind::dynamic || !dim.fallback) continue;
      std::int64_t& extent = point.slots[std::size_t(dim.slot)];
      if (extent < std::numeric_limits<std::int64_t>::max()) ++extent;  // which is odd itself
    }
    return point;
  }

  std::vector<Wanted> choose() const {
    std::vector<Wanted> ladder;
    const auto want_default = [&](const Problem& point, bool any_pointer) {
      for (const Variant& variant : ladder_) {
        if (!is_usable(variant) || !may_serve(point, variant, info_.limits)) continue;
        if (any_pointer && !accepts_any_pointer(point, variant, info_.limits)) continue;
        add(ladder, {variant, true});
        return;
      }
    };
    for (const Problem& point : points_) {
      want_default(point, false);
      want_default(point, true);
      want_default(with_odd_strides(point), true);
    }
    std::vector<Wanted> wanted;
    for (Variant& variant : least_regret()) wanted.push_back({std::move(variant), false});
    for (Wanted& one : ladder) {
      if (wanted.size() < kMaxPlanVariants) add(wanted, std::move(one));
    }
    return wanted;
  }

  static void add(std::vector<Wanted>& to, Wanted wanted) {
    for (Wanted& known : to) {
      if (known.variant != wanted.variant) continue;
      known.is_default = known.is_default || wanted.is_default;
      return;
    }
    to.push_back(std::move(wanted));
  }

  // The cost of using the candidate at a point: its risk if that was estimated, otherwise its place
  // in the ranking.
  static double cost(const SelectedVariant& candidate, std::size_t place) {
    if (candidate.risk < SelectedVariant::kUnknownRisk) return candidate.risk;
    return SelectedVariant::kUnknownRisk + static_cast<double>(place);
  }

  // The few variants that together cost least over the points, the one that saves most first.
  std::vector<Variant> least_regret() const {
    std::vector<Variant> chosen;
    std::vector<double> costs(points_.size(), 2.0 * SelectedVariant::kUnknownRisk + kMaxPoints);
    while (chosen.size() < kMaxTuned) {
      std::vector<VariantGain> gains;
      for (std::size_t i = 0; i < points_.size(); ++i) {
        for (std::size_t place = 0; place < std::min(ranked_[i].size(), kMaxPoints); ++place) {
          const SelectedVariant& candidate = ranked_[i][place];
          const double gain = costs[i] - cost(candidate, place);
          if (gain <= 0 || !is_usable(candidate.variant)) continue;
          const auto known = std::ranges::find(gains, candidate.variant, &VariantGain::first);
          if (known == gains.end()) {
            gains.emplace_back(candidate.variant, gain);
          } else {
            known->second += gain;
          }
        }
      }
      const auto best = std::ranges::max_element(gains, {}, &VariantGain::second);
      if (best == gains.end() ||
          best->second < kSmallestGain * static_cast<double>(points_.size())) {
        break;
      }
      chosen.push_back(best->first);
      for (std::size_t i = 0; i < points_.size(); ++i) {
        for (std::size_t place = 0; place < ranked_[i].size(); ++place) {
          if (ranked_[i][place].variant != chosen.back()) continue;
          costs[i] = std::min(costs[i], cost(ranked_[i][place], place));
        }
      }
    }
    return chosen;
  }

  // Builds and loads the variant unless that was done before. False if it failed, which is
  // recorded.
  bool obtain(const Wanted& wanted) {
    const std::string name = text(wanted.variant);
    if (loaded_.contains(name)) return true;
    Result<std::unique_ptr<LoadedVariant>> loaded = build_and_load(wanted.variant);
    if (!loaded.ok()) {
      failed_.emplace(name, std::move(loaded).take_status());
      return false;
    }
    if (request_.strict && !wanted.is_default && measured_with_other_build(**loaded)) {
      failed_.emplace(name, unsupported("its build is not the one that was measured"));
      return false;
    }
    loaded_.emplace(name, std::move(*loaded));
    return true;
  }

  Result<std::unique_ptr<LoadedVariant>> build_and_load(const Variant& variant) {
    MGTUNE_ASSIGN(const Slots slots, compile_slots(request_.binding, variant, info_.limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(op_, variant, slots, info_.arch));
    MGTUNE_ASSIGN(const Build build, request_.builder.build(request));
    return LoadedVariant::load(request_.modules, request_.binding, variant, build);
  }

  static bool is_other_build(const TunedDistance& tuned_distance, const LoadedVariant& variant) {
    const std::string& measured = tuned_distance.entry->build_sha256;
    return tuned_distance.same_binding && !measured.empty() && measured != variant.build_sha256();
  }

  bool measured_with_other_build(const LoadedVariant& variant) const {
    return std::any_of(tuned_distances_.begin(), tuned_distances_.end(),
                       [&](const TunedDistance& tuned_distance) {
                         return tuned_distance.entry->variant == variant.variant() &&
                                is_other_build(tuned_distance, variant);
                       });
  }

  // A row for each point, with the loaded variant that is best there. If the measurements say
  // nothing about other problems, a row for each pick that is loaded.
  void add_rows(PlanVariants& result) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const bool is_measured = !ranked_[i].empty() && ranked_[i][0].step == SelectionStep::exact;
      if (selector_->has_model() || is_measured) add_point(i, is_measured, result);
    }
    if (selector_->has_model()) return;
    for (const TunedDistance& pick : tuned_distances_) {
      const TunedEntry& entry = *pick.entry;
      for (std::size_t i = 0; i < result.variants.size(); ++i) {
        const LoadedVariant& variant = *result.variants[i];
        if (entry.variant != variant.variant()) continue;
        const auto known = std::ranges::find(result.rows, entry.problem.slots, &DispatchRow::slots);
        if (known != result.rows.end()) continue;
        const bool other_build = is_other_build(pick, variant);
        if (other_build && request_.strict) continue;
        result.rows.push_back(
            {i, pick.distance, entry.problem.slots,
             pick.same_gpu ? SelectionStep::nearest_problem : SelectionStep::nearest_gpu,
             describe(entry) + (other_build ? kOtherBuild : ""), entry.median_ns});
      }
    }
  }

  void add_point(std::size_t point, bool is_measured, PlanVariants& result) const {
    for (const SelectedVariant& candidate : ranked_[point]) {
      if (is_measured && candidate.step != SelectionStep::exact) break;
      const std::size_t loaded = place_of(candidate.variant, result);
      if (loaded == result.variants.size()) continue;
      if (request_.strict && measured_with_other_build(*result.variants[loaded])) continue;
      return add_row(point, candidate, loaded, result);
    }
    // No loaded variant was measured here, so the first of the ladder that is loaded serves.
    for (const Variant& variant : ladder_) {
      const std::size_t loaded = place_of(variant, result);
      if (loaded == result.variants.size()) continue;
      if (!may_serve(points_[point], variant, info_.limits)) continue;
      return add_row(point, {variant, SelectionStep::default_ladder, "a default of the operator"},
                     loaded, result);
    }
  }

  // The number of the loaded variant; the number of all of them if this one is not loaded.
  static std::size_t place_of(const Variant& variant, const PlanVariants& result) {
    const auto is_it = [&](const auto& loaded) { return loaded->variant() == variant; };
    return static_cast<std::size_t>(std::ranges::find_if(result.variants, is_it) -
                                    result.variants.begin());
  }

  void add_row(std::size_t point, const SelectedVariant& candidate, std::size_t variant,
               PlanVariants& result) const {
    std::string reason = candidate.reason;
    if (measured_with_other_build(*result.variants[variant])) reason += kOtherBuild;
    if (candidate.other_driver) reason += kOtherDriver;
    result.rows.push_back({variant, 0, points_[point].slots, candidate.step, std::move(reason),
                           candidate.expected_ns, candidate.slowdown});
  }

  Status nothing_serves() const {
    if (!failed_.empty()) {
      const auto& [variant, failure] = *failed_.begin();
      return Status(failure).with_context(op_.full_name() + ": " + variant);
    }
    return unsupported(op_.full_name() + ": no design serves " + points_.front().text() + " on " +
                       info_.name);
  }

  const PlanRequest& request_;
  const Operator& op_;
  const DeviceInfo& info_;
  const std::vector<Variant> ladder_ = default_ladder(request_.binding, info_.limits);
  std::vector<TunedDistance> tuned_distances_;
  std::vector<Problem> points_;
  std::optional<Selector> selector_;
  std::vector<std::vector<SelectedVariant>> ranked_;  // of each point, the ladder left out
  std::map<std::string, std::unique_ptr<LoadedVariant>> loaded_;  // by variant text
  std::map<std::string, Status> failed_;                          // likewise
};

}  // namespace

Result<PlanVariants> load_plan_variants(const PlanRequest& request) {
  return PlanLoader(request).load();
}

}  // namespace mgtune
