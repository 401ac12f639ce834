#include "space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "selection/admission.h"
#include "selection/default_variants.h"

namespace mgtune {
namespace {

// The level of a slot says when its value is known: 0 if it needs no parameter, i + 1 if the last
// parameter that it needs is the i-th, and kNever if it needs a value of build.*. There is a level
// for each slot of a design's scope.
constexpr std::size_t kNever = static_cast<std::size_t>(-1);
using SlotLevels = std::vector<std::size_t>;

std::size_t level_of(const Expression& expression, const SlotLevels& levels) {
  std::size_t level = 0;
  for (const int slot : expression.slots()) {
    level = std::max(level, levels[static_cast<std::size_t>(slot)]);
  }
  return level;
}

SlotLevels slot_levels(const Design& design, Stage known) {
  SlotLevels levels(design.scope.size(), 0);
  for (const Name& name : design.scope.names()) {
    const bool unknown = name.stage > known || name.stage == Stage::load;
    if (unknown) levels[static_cast<std::size_t>(name.slot)] = kNever;
  }
  for (std::size_t i = 0; i < design.params.size(); ++i) {
    levels[static_cast<std::size_t>(design.params[i].slot)] = i + 1;
  }
  for (const Let& let : design.lets) {
    levels[static_cast<std::size_t>(let.slot)] = level_of(let.value, levels);
  }
  return levels;
}

// A search leaves out variants whose estimate is above this, times the least estimate of the
// ladder.
constexpr double kMostOfBest = 1.25;

// Whether a rung serves if build.* is 1: constraints that need more of a build, such as clusters
// for all tiles at once, may turn out to be false when it is loaded.
bool serves_with_least_build(const Problem& problem, const Variant& rung,
                             const DeviceLimits& device) {
  const std::optional<Slots> slots = serving_slots(problem, rung, device);
  const Design& design = problem.op->designs[static_cast<std::size_t>(rung.design)];
  return slots && std::ranges::all_of(design.constraints, [&](const Expression& constraint) {
           const Result<std::int64_t> holds = constraint.evaluate(*slots);
           return holds.ok() && *holds != 0;
         });
}

}  // namespace

std::uint64_t admissible_variants(const std::vector<DesignStatistics>& designs) {
  std::uint64_t sum = 0;
  for (const DesignStatistics& design : designs) sum += design.admissible;
  return sum;
}

bool is_counted(const std::vector<DesignStatistics>& designs) {
  return std::ranges::all_of(designs, &DesignStatistics::counted);
}

// The state of one enumeration of a design: the values of the parameters so far, and the function
// that gets each variant.
struct Space::Walk {
  Walk(const DesignSpace& space, std::size_t design, const Visit& visitor, WalkLimit& walk_limit)
      : slots(space.slots),
        variant{static_cast<int>(design), std::vector<std::int64_t>(space.design->params.size())},
        visit(&visitor),
        limit(&walk_limit) {}

  Slots slots;
  Variant variant;
  const Visit* visit;
  WalkLimit* limit;
  std::uint64_t skip = 0;          // points at the beginning of the design
  RandomStream* random = nullptr;  // chooses the value with which a parameter begins
  DesignStatistics* statistics = nullptr;
  std::uint64_t lost_to_requirements = 0;
};

Space::Space(const Binding& binding, const DeviceLimits& device)
    : Space(*binding.op, binding.slots, device, Stage::compile, nullptr) {}

Space::Space(const Problem& problem, const DeviceLimits& device,
             std::shared_ptr<const Narrowing> narrowing, Bound bound)
    : Space(*problem.op, problem.slots, device, Stage::launch, std::move(narrowing)) {
  // A rung that the narrowing leaves out, or that may refuse when it is loaded, bounds nothing.
  std::int64_t best = kNoEstimate;
  std::vector<Variant> ladder;
  for (auto& [variant, estimate] : ladder_at(problem, defaults_, device)) {
    const bool counts = serves(variant) && serves_with_least_build(problem, variant, device);
    if (counts) best = std::min(best, estimate);
    ladder.push_back(std::move(variant));
  }
  defaults_ = std::move(ladder);
  if (bound == Bound::counts && best != kNoEstimate) bound_estimates(best);
}

Space::Space(const Operator& op, const Slots& slots, const DeviceLimits& device, Stage known,
             std::shared_ptr<const Narrowing> narrowing)
    : op_(&op),
      narrowing_(std::move(narrowing)),
      defaults_(default_ladder(Binding{&op, slots}, device)) {
  Slots filled = slots;
  set_device_slots(device, filled);
  const std::vector<Narrowing::Condition> none;
  for (std::size_t i = 0; i < op.designs.size(); ++i) {
    designs_.push_back(arrange(op.designs[i], filled, known,
                               narrowing_ == nullptr ? none : narrowing_->designs[i]));
  }
}

Space::DesignSpace Space::arrange(const Design& design, const Slots& slots, Stage known,
                                  const std::vector<Narrowing::Condition>& conditions) {
  DesignSpace space{&design, std::vector<Level>(design.params.size() + 1), slots};
  space.slots.resize(design.scope.size());
  for (std::size_t i = design.params.size(); i > 0; --i) {
    space.levels[i - 1].points_below =
        space.levels[i].points_below * design.params[i - 1].values.size();
  }
  const SlotLevels levels = slot_levels(design, known);
  const auto add = [&](const Expression& expression, Step step) {
    const std::size_t level = level_of(expression, levels);
    if (level != kNever) space.levels[level].steps.push_back(std::move(step));
  };
  for (const Let& let : design.lets) {
    add(let.value, {&let.value, let.slot, false, let.name + " = " + let.value.text()});
  }
  for (const Expression& requirement : design.requirements) {
    add(requirement, {&requirement, -1, true, "requires " + requirement.text()});
  }
  for (const Expression& constraint : design.constraints) {
    add(constraint, {&constraint, -1, false, constraint.text()});
  }
  for (const Narrowing::Condition& condition : conditions) {
    add(condition.expression, {&condition.expression, -1, false, condition.text});
  }
  return space;
}

void Space::bound_estimates(std::int64_t best) {
  const double above = (kMostOfBest - 1) * std::abs(static_cast<double>(best));
  const double bound = static_cast<double>(best) + above;
  constexpr double kLargest = 0x1p62;
  const auto most = static_cast<std::int64_t>(std::clamp(bound, -kLargest, kLargest));
  for (DesignSpace& space : designs_) {
    const std::optional<Expression>& estimate = space.design->estimate;
    if (!estimate) continue;
    const std::size_t level = level_of(*estimate, slot_levels(*space.design, Stage::launch));
    space.levels[level].steps.push_back(
        {&*estimate, -1, false, fmt::format("an estimate above {} times {}", kMostOfBest, best),
         true, most});
  }
}

const Space::Step* Space::first_failure(const Level& level, Slots& slots, Bound bound) {
  for (const Step& step : level.steps) {
    if (step.is_estimate && bound == Bound::ignored) continue;
    const Result<std::int64_t> value = step.expression->evaluate(slots);
    if (!value.ok() && step.is_estimate) continue;  // it says nothing about the variant
    if (!value.ok()) return &step;
    if (step.let_slot >= 0) {
      slots[static_cast<std::size_t>(step.let_slot)] = *value;
    } else if (step.is_estimate ? *value > step.most : *value == 0) {
      return &step;
    }
  }
  return nullptr;
}

// Visits all points in which the first `level` parameters have their present values. False: stop.
bool Space::descend(const DesignSpace& space, Walk& walk, std::size_t level) {
  if (!walk.limit->step()) return false;
  if (const Step* failed = first_failure(space.levels[level], walk.slots)) {
    if (walk.statistics != nullptr) {
      walk.statistics->pruned[failed->text] += space.levels[level].points_below;
      if (failed->requirement) walk.lost_to_requirements += space.levels[level].points_below;
    }
    return true;
  }
  if (level == space.design->params.size()) return (*walk.visit)(walk.variant);
  const Parameter& parameter = space.design->params[level];
  const std::uint64_t below = space.levels[level + 1].points_below;
  const std::uint64_t first = std::exchange(walk.skip, walk.skip % below) / below;
  const std::size_t count = parameter.values.size();
  const std::size_t turn = walk.random != nullptr ? walk.random->below(count) : 0;
  for (std::size_t i = first; i < count; ++i) {
    const std::int64_t value = parameter.values[(i + turn) % count];
    walk.variant.values[level] = value;
    walk.slots[static_cast<std::size_t>(parameter.slot)] = value;
    if (!descend(space, walk, level + 1)) return false;
    walk.skip = 0;  // only the first value skips points
  }
  return true;
}

std::vector<ParameterAxis> Space::axes(std::size_t design) const {
  std::vector<ParameterAxis> axes;
  for (const Parameter& parameter : designs_[design].design->params) {
    const bool is_whole = parameter.type != ValueType::symbol;
    axes.push_back({parameter.name, parameter.values, is_whole || parameter.is_real,
                    is_whole ? parameter.values : std::vector<std::int64_t>()});
  }
  return axes;
}

std::uint64_t Space::first_point(std::size_t design) const {
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < design; ++i) first += designs_[i].levels[0].points_below;
  return first;
}

Variant Space::point(std::uint64_t index) const {
  std::size_t design = 0;
  while (index >= designs_[design].levels[0].points_below) {
    index -= designs_[design].levels[0].points_below;
    ++design;
  }
  Variant variant{static_cast<int>(design), {}};
  const DesignSpace& space = designs_[design];
  for (std::size_t i = 0; i < space.design->params.size(); ++i) {
    const std::uint64_t below = space.levels[i + 1].points_below;
    variant.values.push_back(space.design->params[i].values[index / below]);
    index %= below;
  }
  return variant;
}

std::uint64_t Space::index(const Variant& variant) const {
  const auto design = static_cast<std::size_t>(variant.design);
  std::uint64_t index = first_point(design);
  const DesignSpace& space = designs_[design];
  for (std::size_t i = 0; i < space.design->params.size(); ++i) {
    const std::vector<std::int64_t>& values = space.design->params[i].values;
    const auto position = std::ranges::find(values, variant.values[i]) - values.begin();
    index += static_cast<std::uint64_t>(position) * space.levels[i + 1].points_below;
  }
  return index;
}

bool Space::admits(const Variant& variant) const { return fulfils(variant, Bound::counts); }

bool Space::serves(const Variant& variant) const { return fulfils(variant, Bound::ignored); }

bool Space::fulfils(const Variant& variant, Bound bound) const {
  const DesignSpace& space = designs_[static_cast<std::size_t>(variant.design)];
  Slots slots = space.slots;
  for (std::size_t level = 0; level < space.levels.size(); ++level) {
    if (level > 0) {
      const Parameter& parameter = space.design->params[level - 1];
      slots[static_cast<std::size_t>(parameter.slot)] = variant.values[level - 1];
    }
    if (first_failure(space.levels[level], slots, bound) != nullptr) return false;
  }
  return true;
}

std::optional<std::uint64_t> Space::next_admissible(std::uint64_t index, WalkLimit& limit) const {
  std::optional<std::uint64_t> found;
  const Visit visit = [&](const Variant& variant) {
    found = this->index(variant);
    return false;
  };
  std::uint64_t first = 0;
  for (std::size_t design = 0; design < designs_.size() && !found.has_value(); ++design) {
    const std::uint64_t end = first + designs_[design].levels[0].points_below;
    if (index < end) {
      Walk walk(designs_[design], design, visit, limit);
      walk.skip = index > first ? index - first : 0;
      if (!descend(designs_[design], walk, 0)) break;
    }
    first = end;
  }
  return found;
}

bool Space::for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const {
  Walk walk(designs_[design], design, visit, limit);
  return descend(designs_[design], walk, 0);
}

bool Space::wander_through(std::size_t design, RandomStream& random, const Visit& visit,
                           WalkLimit& limit) const {
  Walk walk(designs_[design], design, visit, limit);
  walk.random = &random;
  return descend(designs_[design], walk, 0);
}

std::vector<Variant> Space::ladder() const {
  std::vector<Variant> ladder;
  for (const Variant& variant : defaults_) {
    const bool repeated = std::ranges::find(ladder, variant) != ladder.end();
    if (!repeated && admits(variant)) ladder.push_back(variant);
  }
  return ladder;
}

std::vector<DesignStatistics> Space::statistics(std::uint64_t max_nodes) const {
  std::vector<DesignStatistics> all;
  for (std::size_t i = 0; i < designs_.size(); ++i) {
    const std::uint64_t share = max_nodes / (designs_.size() - i);
    std::uint64_t left = share;
    all.push_back(statistics_of(i, left));
    max_nodes -= share - left;
  }
  return all;
}

DesignStatistics Space::statistics_of(std::size_t design, std::uint64_t& nodes_left) const {
  const DesignSpace& space = designs_[design];
  DesignStatistics statistics;
  statistics.design = space.design->name;
  statistics.points = space.levels[0].points_below;
  const Visit visit = [&statistics](const Variant&) {
    ++statistics.admissible;
    return true;
  };
  WalkLimit limit(nodes_left);
  Walk walk(space, design, visit, limit);
  walk.statistics = &statistics;
  statistics.counted = descend(space, walk, 0);
  nodes_left -= limit.steps();
  if (walk.lost_to_requirements == statistics.points) {
    statistics.unavailable = std::ranges::max_element(statistics.pruned, {}, [](const auto& lost) {
                               return lost.second;
                             })->first;
  }
  return statistics;
}

}  // namespace mgtune
