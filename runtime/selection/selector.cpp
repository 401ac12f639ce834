#include "selection/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "selection/admission.h"

namespace mgtune {
namespace {

constexpr std::size_t kFocus = 24;  // variants of each problem

// At a problem that was not measured, a variant is tried only if it took at most this many times
// the fastest time at a measured problem. Otherwise a model that has learned from a few problems
// may rank variants first that were never fast.
constexpr double kNearEnough = 1.5;

// Somebody who knows the kernel chose the operator's default for a problem. It is kept unless the
// model expects another variant to be faster by this much.
constexpr double kConvincing = 0.03;

// It is also kept if no measured problem is nearer than this (a factor of 1.4 in a static dim, or
// of 4 in a dynamic one). At ten such problems of rmsnorm on an H200, the model's choice was 10 to
// 78 % slower than the best, and the default 0 to 14 %.
constexpr double kFar = 2;

bool contains(const std::vector<Variant>& variants, const Variant& variant) {
  return std::ranges::find(variants, variant) != variants.end();
}

}  // namespace

Selector::Selector(const Problem& near, const DeviceInfo& device, const Evidence& evidence)
    : device_(device),
      evidence_(evidence),
      here_(gpu_record(device)),
      source_(here_),
      binding_(near.binding()),
      ladder_(default_ladder(binding_, device.limits)),
      failed_(failed_variants(evidence, here_)),
      picks_(tuned_distances(binding_, device, evidence.tuned)) {
  std::erase_if(picks_, [&](const TunedDistance& pick) { return has_failed(pick.entry->variant); });
  measured_ = measured_problems(evidence, here_, binding_);
  const bool nothing_here = measured_.empty() && (picks_.empty() || !picks_.front().same_gpu);
  if (nothing_here) {
    // The nearest GPU that measured something.
    double nearest = std::numeric_limits<double>::infinity();
    for (const GpuRecord& gpu : evidence.gpus) {
      if (gpu.emulation != here_.emulation || gpu_distance(gpu, here_) >= nearest) continue;
      std::vector<MeasuredProblem> measured = measured_problems(evidence, gpu, binding_);
      if (!SlowdownModel::has_enough(measured)) continue;
      nearest = gpu_distance(gpu, here_);
      measured_ = std::move(measured);
      source_ = gpu;
    }
  }
  learn(near);
}

void Selector::learn(const Problem& near) {
  if (!device_.driver.empty()) {
    const std::vector<bool> on_source = same_gpus(evidence_, source_);
    std::vector<bool> seen(evidence_.variants.size(), false), by_this(seen);
    for (const Evidence::Row& row : evidence_.rows) {
      if (!on_source[row.gpu] || row.median_ns <= 0) continue;
      seen[row.variant] = true;
      if (evidence_.drivers[row.driver] == device_.driver) by_this[row.variant] = true;
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] && !by_this[i]) by_other_driver_.push_back(evidence_.variants[i]);
    }
  }
  if (!SlowdownModel::has_enough(measured_)) return;
  std::set<const Variant*> fast;  // at some problem
  for (const MeasuredProblem& problem : measured_) {
    for (const MeasuredVariant& variant : problem.variants) {
      if (variant.median_ns <= kNearEnough * problem.best_ns()) fast.insert(variant.variant);
    }
  }
  for (const Variant* variant : fast) {
    if (!has_failed(*variant)) candidates_.push_back(*variant);
  }
  const DeviceLimits limits =
      is_same_gpu(source_, here_) ? device_.limits : device_of(source_).limits;
  model_.emplace(measured_, limits, near);
}

bool Selector::has_failed(const Variant& variant) const { return contains(failed_, variant); }

const MeasuredProblem* Selector::measured_at(const Problem& problem) const {
  if (!is_same_gpu(source_, here_)) return nullptr;
  const auto found = std::ranges::find_if(measured_, [&](const MeasuredProblem& measured) {
    return measured.problem->slots == problem.slots;
  });
  return found == measured_.end() ? nullptr : &*found;
}

bool Selector::has_other_driver(const Variant& variant) const {
  return contains(by_other_driver_, variant);
}

void Selector::focus_on(std::span<const Problem> problems) {
  if (!model_) return;
  std::vector<Variant> kept;
  for (const Problem& problem : problems) {
    const auto estimates = model_->estimate(problem, candidates_, device_.limits);
    for (std::size_t i = 0; i < std::min(estimates.size(), kFocus); ++i) {
      const Variant& variant = candidates_[estimates[i].variant];
      if (!contains(kept, variant)) kept.push_back(variant);
    }
  }
  candidates_ = std::move(kept);
}

// Of this very problem on this GPU.
std::vector<SelectedVariant> Selector::by_measurements(const Problem& problem) const {
  std::vector<SelectedVariant> found;
  const MeasuredProblem* const at = measured_at(problem);
  for (const TunedDistance& pick : picks_) {
    if (step_of(pick, problem) != SelectionStep::exact) continue;
    const TunedEntry& entry = *pick.entry;
    found.push_back({entry.variant, SelectionStep::exact, describe(entry), entry.median_ns, -1, 0,
                     has_other_driver(entry.variant)});
    if (at == nullptr) continue;
    if (const std::optional<double> alone_ns = at->median_ns(entry.variant)) {
      found.back().slowdown = *alone_ns / at->best_ns() - 1;
      found.back().alone_ns = *alone_ns;
    }
  }
  if (at == nullptr) return found;
  for (const MeasuredVariant& measured : at->variants) {
    const double slowdown = measured.median_ns / at->best_ns() - 1;
    found.push_back({*measured.variant, SelectionStep::exact,
                     "measured at " + problem.text() + " on " + here_.model, measured.median_ns,
                     slowdown, slowdown, has_other_driver(*measured.variant), measured.median_ns});
  }
  return found;
}

std::optional<Variant> Selector::default_at(const Problem& problem) const {
  for (const Variant& variant : ladder_) {
    if (!has_failed(variant) && may_serve(problem, variant, device_.limits)) return variant;
  }
  return std::nullopt;
}

double Selector::distance_to_measured(const Problem& problem) const {
  double nearest = std::numeric_limits<double>::infinity();
  for (const MeasuredProblem& measured : measured_) {
    const Slots& slots = measured.problem->slots;
    nearest = std::min(nearest, binding_distance(*problem.op, slots, problem.slots) +
                                    dims_distance(*problem.op, slots, problem.slots));
  }
  return nearest;
}

std::vector<SelectedVariant> Selector::by_estimate(const Problem& problem) const {
  std::vector<SelectedVariant> found;
  if (!model_) return found;
  std::vector<Variant> tried = candidates_;
  const std::optional<Variant> standing = default_at(problem);
  if (standing && !contains(tried, *standing)) tried.push_back(*standing);
  std::vector<SlowdownModel::Estimate> estimates = model_->estimate(problem, tried, device_.limits);
  const auto of_default = std::ranges::find_if(estimates, [&](const SlowdownModel::Estimate& each) {
    return standing && tried[each.variant] == *standing;
  });
  if (of_default != estimates.end() && (distance_to_measured(problem) >= kFar ||
                                        of_default->risk <= estimates.front().risk + kConvincing)) {
    std::rotate(estimates.begin(), of_default, of_default + 1);
  }
  const double best_ns = model_->best_ns(problem);
  const SelectionStep step =
      is_same_gpu(source_, here_) ? SelectionStep::least_regret : SelectionStep::nearest_gpu;
  for (const SlowdownModel::Estimate& estimate : estimates) {
    found.push_back(
        {tried[estimate.variant], step,
         fmt::format("estimated from {} problems measured on {}", measured_.size(), source_.model),
         best_ns * (1 + estimate.slowdown), estimate.slowdown, estimate.risk,
         has_other_driver(tried[estimate.variant])});
  }
  return found;
}

std::vector<SelectedVariant> Selector::by_picks(const Problem& problem) const {
  std::vector<TunedDistance> ranked = picks_;
  for (TunedDistance& pick : ranked) {
    pick.distance += dims_distance(*problem.op, pick.entry->problem.slots, problem.slots);
  }
  std::ranges::stable_sort(ranked, {}, &TunedDistance::distance);
  std::vector<SelectedVariant> found;
  for (const TunedDistance& pick : ranked) {
    found.push_back({pick.entry->variant, step_of(pick, problem), describe(*pick.entry),
                     pick.entry->median_ns});
    found.back().other_driver = has_other_driver(pick.entry->variant);
  }
  return found;
}

std::vector<SelectedVariant> Selector::rank(const Problem& problem) const {
  std::vector<SelectedVariant> candidates;
  const auto consider = [&](std::vector<SelectedVariant> more) {
    for (SelectedVariant& candidate : more) {
      const auto known =
          std::ranges::find(candidates, candidate.variant, &SelectedVariant::variant);
      if (known != candidates.end() || has_failed(candidate.variant)) continue;
      if (may_serve(problem, candidate.variant, device_.limits)) {
        candidates.push_back(std::move(candidate));
      }
    }
  };
  consider(by_measurements(problem));
  consider(by_estimate(problem));
  consider(by_picks(problem));
  for (const Variant& variant : ladder_) {
    consider({{variant, SelectionStep::default_ladder, "a default of the operator"}});
  }
  return candidates;
}

}  // namespace mgtune
