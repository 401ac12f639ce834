#include "selection/variant_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "selection/admission.h"
#include "selection/default_variants.h"

namespace mgtune {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

const RuleNode& leaf_at(const Rules& rules, const Problem& problem, const DeviceInfo& device) {
  return rules.leaf_of(
      RuleNames(*rules.op).values(problem, device.limits, bandwidth_for(device, rules)));
}

class Candidates {
 public:
  Candidates(const Problem& problem, const DeviceInfo& device, const Evidence& evidence)
      : problem_(problem), device_(device), evidence_(evidence), here_(gpu_record(device)) {}

  void consider(const Variant& variant, SelectionStep step, const std::string& reason,
                double expected_ns = 0) {
    const Operator& op = *problem_.op;
    if (std::ranges::find(found_, variant, &SelectedVariant::variant) != found_.end()) return;
    if (evidence_.failed.find(here_, op.full_name(), variant_text(op, variant))) return;
    if (!may_serve(problem_, variant, device_.limits)) return;
    found_.push_back({variant, step, reason, expected_ns});
  }

  std::vector<SelectedVariant> take() { return std::move(found_); }

 private:
  const Problem& problem_;
  const DeviceInfo& device_;
  const Evidence& evidence_;
  const GpuRecord here_;
  std::vector<SelectedVariant> found_;
};

}  // namespace

std::string_view to_string(SelectionStep step) {
  static constexpr std::array<std::string_view, 6> kTexts = {
      // in the order of SelectionStep
      "exact problem",        "near problem",   "rules",
      "rules of another GPU", "default ladder", "named by the program"};
  return kTexts[static_cast<std::size_t>(step)];
}

double dims_distance(const Operator& op, const Slots& a, const Slots& b) {
  double distance = 0;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) continue;
    const auto slot = std::size_t(dim.slot);
    distance += std::abs(log_extent(a[slot]) - log_extent(b[slot]));
  }
  return distance;
}

bool is_near(const Operator& op, const Slots& tuned, const Slots& problem) {
  return std::ranges::all_of(op.dims, [&](const Dim& dim) {
    const auto slot = std::size_t(dim.slot);
    return dim.kind == DimKind::fixed || dim.fallback || is_near_extent(tuned[slot], problem[slot]);
  });
}

bool is_near_extent(std::int64_t tuned, std::int64_t dim) {
  const auto a = static_cast<double>(std::max<std::int64_t>(tuned, 1));
  const auto b = static_cast<double>(std::max<std::int64_t>(dim, 1));
  return b <= a * kNearFactor && a <= b * kNearFactor;
}

std::shared_ptr<const Rules> rules_for(const Binding& binding, const DeviceInfo& device,
                                       const Evidence& evidence) {
  const GpuRecord here = gpu_record(device);
  std::shared_ptr<const Rules> nearest;
  double distance = std::numeric_limits<double>::infinity();
  for (const std::shared_ptr<const Rules>& rules : evidence.rules) {
    if (rules->gpu.emulation != here.emulation) continue;
    const bool knows = std::ranges::any_of(rules->kinds, [&](const Slots& kind) {
      return is_alike(*binding.op, binding.slots, kind);
    });
    if (!knows && !rules->kinds.empty()) continue;
    const double at = is_same_gpu(rules->gpu, here) ? -1 : gpu_distance(rules->gpu, here);
    if (at >= distance) continue;
    distance = at;
    nearest = rules;
  }
  return nearest;
}

std::int64_t bandwidth_for(const DeviceInfo& device, const Rules& rules) {
  const std::int64_t here = bandwidth_of(gpu_record(device));
  return here > 0 ? here : rules.bytes_per_us;
}

std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const Evidence& evidence) {
  const Operator& op = *problem.op;
  Candidates candidates(problem, device, evidence);
  std::vector<std::pair<double, const TunedEntry*>> near;
  for (const TunedEntry* entry : evidence.usable_picks(problem.binding(), gpu_record(device))) {
    if (!is_near(op, entry->problem.slots, problem.slots)) continue;
    near.emplace_back(dims_distance(op, entry->problem.slots, problem.slots), entry);
  }
  std::ranges::stable_sort(near, {}, &std::pair<double, const TunedEntry*>::first);
  for (const auto& [distance, entry] : near) {
    const bool is_exact = entry->problem.slots == problem.slots;
    candidates.consider(entry->variant,
                        is_exact ? SelectionStep::exact : SelectionStep::near_problem,
                        describe(*entry), entry->median_ns);
  }
  std::string of_ladder = "a default of the operator";
  if (const std::shared_ptr<const Rules> rules = rules_for(problem.binding(), device, evidence)) {
    if (leave_it_to_the_ladder(*rules, problem, device)) {
      of_ladder += ", to which " + describe(*rules) + ", leave the choice";
    }
    const bool is_own = is_same_gpu(rules->gpu, gpu_record(device));
    const RuleNode& leaf = leaf_at(*rules, problem, device);
    for (const std::size_t place : usable_ranking(*rules, leaf, {&problem, 1}, device)) {
      const std::optional<Variant> variant =
          variant_of(rules->variants[place], problem.binding(), device.limits);
      if (!variant) continue;
      candidates.consider(*variant,
                          is_own ? SelectionStep::rules : SelectionStep::rules_of_other_gpu,
                          describe(*rules));
    }
  }
  const std::vector<Variant> ladder = default_ladder(problem.binding(), device.limits);
  for (const auto& [variant, estimate] : ladder_at(problem, ladder, device.limits)) {
    const std::string estimated =
        estimate == kNoEstimate ? "" : fmt::format(", with an estimate of {}", estimate);
    candidates.consider(variant, SelectionStep::default_ladder, of_ladder + estimated);
  }
  return candidates.take();
}

std::vector<std::size_t> usable_ranking(const Rules& rules, const RuleNode& leaf,
                                        std::span<const Problem> problems,
                                        const DeviceInfo& device) {
  const auto serves = [&](std::size_t place, const DeviceLimits& limits) {
    return std::ranges::any_of(problems, [&](const Problem& problem) {
      const auto variant = variant_of(rules.variants[place], problem.binding(), limits);
      return variant && may_serve(problem, *variant, limits);
    });
  };
  DeviceLimits there = device.limits;
  if (!is_same_gpu(rules.gpu, gpu_record(device))) {
    there.compute_capability = device_of(rules.gpu).limits.compute_capability;
  }
  std::vector<std::size_t> usable;
  for (const std::size_t place : leaf.ranking) {
    if (!serves(place, there)) continue;
    if (!serves(place, device.limits)) break;
    usable.push_back(place);
  }
  return usable;
}

bool leave_it_to_the_ladder(const Rules& rules, const Problem& problem, const DeviceInfo& device) {
  const RuleNode& leaf = leaf_at(rules, problem, device);
  return usable_ranking(rules, leaf, {&problem, 1}, device).empty();
}

std::vector<std::string> rules_lines(const Rules& rules, const Problem& problem,
                                     const DeviceInfo& device) {
  const std::int64_t bandwidth = bandwidth_for(device, rules);
  std::vector<std::string> lines;
  for (const std::string& line : path_text(rules, problem, device.limits, bandwidth)) {
    lines.push_back("rule      " + line);
  }
  const RuleNode& leaf = leaf_at(rules, problem, device);
  const bool is_own = is_same_gpu(rules.gpu, gpu_record(device));
  if (leave_it_to_the_ladder(rules, problem, device)) {
    lines.push_back(leaf.ranking.empty()
                        ? "ladder    this rule leaves the choice to the default ladder"
                        : "ladder    no variant of this rule can serve the problem on " +
                              device.name + ", so the default ladder does");
    // The ladder of another GPU is another one.
    if (!is_own) return lines;
  }
  std::string expected = fmt::format(
      "loss      {} in the median and {} at worst, at the {} problems of this rule; for each of "
      "them, rules were fitted to the other problems",
      percent(leaf.left_out.median), percent(leaf.left_out.worst), leaf.left_out.problems);
  if (!is_own) expected += "; that was on " + rules.gpu.model + ", and nobody measured it here";
  lines.push_back(std::move(expected));
  return lines;
}

std::string improvement_text(SelectionStep step, const Problem& problem, const Rules* rules,
                             const DeviceInfo& device) {
  if (step == SelectionStep::exact || step == SelectionStep::named) return "";
  std::string text = "sweep this problem: mgtune sweep " + problem.op->full_name() +
                     " --problem '" + problem.text() + "'";
  const bool is_by_own_rules =
      rules != nullptr && is_same_gpu(rules->gpu, gpu_record(device)) &&
      (step == SelectionStep::rules ||
       (step == SelectionStep::default_ladder && leave_it_to_the_ladder(*rules, problem, device)));
  if (is_by_own_rules) {
    text += fmt::format(" (up to {} expected, by the problems of this rule)",
                        percent(leaf_at(*rules, problem, device).left_out.worst));
  } else if (step == SelectionStep::default_ladder || step == SelectionStep::rules_of_other_gpu) {
    text += "; or sweep many problems and run 'mgtune fit " + problem.op->full_name() + "'";
  }
  return text;
}

std::string describe(const TunedEntry& entry) {
  return "tuned for " + entry.problem.text() + " on " + entry.gpu.model;
}

std::string describe(const Rules& rules) {
  return fmt::format("rules of {}, fitted to {} problems", rules.gpu.model, rules.fitted.problems);
}

}  // namespace mgtune
