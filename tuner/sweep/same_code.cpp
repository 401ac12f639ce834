#include "sweep/same_code.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace mgtune {
namespace {

// Writes what the expressions of a design depend on.
class LaunchText {
 public:
  LaunchText(const Design& design, const Slots& slots) : design_(design), slots_(slots) {}

  // The value of what is known before compiling. Of anything else the parameters that it reads,
  // also through names of the design: all other names have the same values for both variants.
  void add(const Expression& expression) {
    text_ += ';';
    if (expression.stage() == Stage::compile) {
      const Result<std::int64_t> value = expression.evaluate(slots_);
      if (value.ok()) return static_cast<void>(text_ += std::to_string(*value));
    }
    for (const int slot : expression.slots()) add_slot(slot);
  }
  void add(const std::optional<Expression>& expression) {
    if (expression) add(*expression);
  }
  void add(std::span<const Expression> expressions) {
    for (const Expression& expression : expressions) add(expression);
  }
  void add(const std::string& word) { text_ += ";" + word; }

  std::string take() { return std::move(text_); }

 private:
  void add_slot(int slot) {
    const auto let = std::ranges::find(design_.lets, slot, &Let::slot);
    if (let != design_.lets.end()) return add(let->value);
    const auto parameter = std::ranges::find(design_.params, slot, &Parameter::slot);
    if (parameter == design_.params.end()) return;
    text_ += "," + std::to_string(slots_[static_cast<std::size_t>(slot)]);
  }

  const Design& design_;
  const Slots& slots_;
  std::string text_;
};

std::string group_of(const VariantState& state) {
  return state.build.sha256 + " " + state.launches;
}

}  // namespace

std::string launch_values(const Operator& op, const Variant& variant, const Slots& slots) {
  const Design& design = op.designs[static_cast<std::size_t>(variant.design)];
  LaunchText text(design, slots);
  text.add(design.name);
  for (const Alignment& alignment : design.alignments) text.add(alignment.bytes);
  for (const Workspace& workspace : design.workspace) {
    text.add(workspace.when);
    text.add(workspace.shape);
  }
  for (const Launch& launch : design.launches) {
    text.add(launch.when);
    text.add(launch.kernel.arguments);
    for (const auto* extents : {&launch.grid, &launch.block, &launch.cluster}) text.add(*extents);
    for (const Expression* value : {&launch.shared, &launch.cooperative, &launch.pdl}) {
      text.add(*value);
    }
    for (const TensorMap& map : launch.tensor_maps) {
      for (const auto* extents : {&map.extent, &map.stride, &map.box}) text.add(*extents);
    }
    for (const Argument& argument : launch.args) text.add(argument.value);
  }
  return text.take();
}

void SameCode::give(const Measured& measured, VariantState& state) {
  const std::string note = "as " + measured.variant + ", which has the same code";
  state.need = VariantState::Need::nothing;
  state.outcome = measured.outcome;
  state.message = measured.message;
  if (measured.outcome != Outcome::ok) state.message += "\n" + note;
  state.check = measured.check;
  state.measurement = measured.measurement;
  if (!state.measurement) return;
  std::string& notes = state.measurement->note;
  notes += (notes.empty() ? "" : "; ") + note;
}

std::optional<VariantState> SameCode::take_over(VariantState state) {
  const auto [found, is_first] = groups_.try_emplace(group_of(state));
  Group& group = found->second;
  if (is_first) return state;
  if (!group.measured) {
    group.kept.push_back(std::move(state));
    ++kept_;
    return std::nullopt;
  }
  give(*group.measured, state);
  return state;
}

std::vector<VariantState> SameCode::add_result(const VariantState& state) {
  if (state.build.sha256.empty()) return {};
  Group& group = groups_[group_of(state)];
  if (!group.measured) {
    group.measured =
        Measured{state.variant, state.outcome, state.message, state.check, state.measurement};
  }
  std::vector<VariantState> others = std::exchange(group.kept, {});
  kept_ -= others.size();
  for (VariantState& other : others) give(*group.measured, other);
  return others;
}

}  // namespace mgtune
