#include "sweep/same_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

namespace mgtune {
namespace {

constexpr std::string_view kNoteBegin = "as ", kNoteEnd = ", which has the same code";

// Writes the values of a design's expressions, or the values that they depend on.
class LaunchText {
 public:
  LaunchText(const Problem& problem, const Design& design, Slots slots)
      : design_(design), slots_(std::move(slots)) {
    for (const Dim& dim : problem.op->dims)
      slots_[place(dim.slot)] = problem.slots[place(dim.slot)];
    for (const Let& let : design.lets) {
      if (let.value.stage() == Stage::compile) continue;  // compile_slots() has it
      const Result<std::int64_t> value = let.value.evaluate(slots_);
      if (value.ok() && is_known(let.value)) {
        slots_[place(let.slot)] = *value;
      } else {
        unknown_.insert(let.slot);
      }
    }
  }

  // Adds the value. If it depends on the loaded build, adds instead the values that the expression
  // reads, directly or through names of the design, and that may differ between two variants.
  void add(const Expression& expression) {
    text_ += ';';
    if (is_known(expression)) {
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
  static std::size_t place(int slot) { return static_cast<std::size_t>(slot); }

  bool is_known(const Expression& expression) const {
    return std::ranges::none_of(expression.slots(),
                                [this](int slot) { return unknown_.contains(slot); });
  }

  void add_slot(int slot) {
    const auto let = std::ranges::find(design_.lets, slot, &Let::slot);
    if (let != design_.lets.end()) return add(let->value);
    const auto parameter = std::ranges::find(design_.params, slot, &Parameter::slot);
    if (parameter == design_.params.end()) return;
    text_ += "," + std::to_string(slots_[place(slot)]);
  }

  const Design& design_;
  Slots slots_;
  std::set<int> unknown_ = {kSlotBuildBlocksPerSm, kSlotBuildMaxClusters};
  std::string text_;
};

// Adds which of the build's kernels each launch runs. The build has each kernel once, in this
// order.
void add_kernels(const Operator& op, const Variant& variant, const Slots& slots, LaunchText& text) {
  const Result<std::vector<std::string>> names = kernel_names(op, variant, slots);
  if (!names.ok()) return;  // there is no build then
  std::vector<std::string> distinct;
  for (const std::string& name : *names) {
    const auto found = std::ranges::find(distinct, name);
    text.add(std::to_string(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(name);
  }
}

std::string group_of(const std::string& code, const BuildRecord& build,
                     const std::string& launches) {
  return (code.empty() ? build.sha256 : code) + " " + launches;
}

// Variants with the same code and the same launches also have the same text here.
std::string resources_of(const VariantState& state) {
  const BuildResources& build = state.build;
  return fmt::format("{} {} {} {} {}", build.registers, build.spill_bytes,
                     build.static_shared_bytes, build.code_bytes, state.launches);
}

}  // namespace

std::string launch_values(const Problem& problem, const Variant& variant, const Slots& slots) {
  const Operator& op = *problem.op;
  const Design& design = op.designs[static_cast<std::size_t>(variant.design)];
  LaunchText text(problem, design, slots);
  text.add(design.name);
  // Whether the variant serves the problem is known at the latest when its build is loaded.
  text.add(design.constraints);
  for (const Alignment& alignment : design.alignments) text.add(alignment.bytes);
  for (const Workspace& workspace : design.workspace) {
    text.add(workspace.when);
    text.add(workspace.shape);
  }
  add_kernels(op, variant, slots, text);
  for (const Launch& launch : design.launches) {
    text.add(launch.when);
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

std::optional<std::string> measured_variant(std::string_view note) {
  const std::size_t end = note.find(kNoteEnd);
  if (end == note.npos) return std::nullopt;
  note = note.substr(0, end);
  const std::size_t other = note.rfind("; ");
  if (other != note.npos) note.remove_prefix(other + 2);
  if (!note.starts_with(kNoteBegin)) return std::nullopt;
  return std::string(note.substr(kNoteBegin.size()));
}

std::string measured_variant(const OutcomeRecord& record) {
  if (!record.measurement) return record.variant;
  return measured_variant(record.measurement->note).value_or(record.variant);
}

void SameCode::give(const Measured& measured, VariantState& state) {
  const std::string note = fmt::format("{}{}{}", kNoteBegin, measured.variant, kNoteEnd);
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

// Puts results of earlier sweeps into their groups if the state may have the same code.
void SameCode::read_recalled(const VariantState& state) {
  if (state.code.empty()) return;
  const auto recalled = recalled_.extract(resources_of(state));
  if (recalled.empty()) return;
  for (Recalled& result : recalled.mapped()) {
    const bool is_same_build = result.build.sha256 == state.build.sha256;
    const std::string code = is_same_build ? state.code : read_code_(result.build);
    Group& group = groups_[group_of(code, result.build, state.launches)];
    if (!group.measured) group.measured = std::move(result.measured);
  }
}

void SameCode::announce(const VariantState& state) {
  groups_.try_emplace(group_of(state.code, state.build, state.launches));
}

std::optional<VariantState> SameCode::take_over(VariantState state) {
  read_recalled(state);
  const auto [found, is_first] =
      groups_.try_emplace(group_of(state.code, state.build, state.launches));
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
  // If the variant took over its result, other variants get it from the variant that was measured.
  if (state.measurement && measured_variant(state.measurement->note)) return {};
  Measured measured{state.variant, state.outcome, state.message, state.check, state.measurement};
  if (state.code.empty() && state.build.code_bytes > 0) {
    recalled_[resources_of(state)].push_back({state.build, measured});
  }
  Group& group = groups_[group_of(state.code, state.build, state.launches)];
  if (!group.measured) group.measured = std::move(measured);
  std::vector<VariantState> others = std::exchange(group.kept, {});
  kept_ -= others.size();
  for (VariantState& other : others) give(*group.measured, other);
  return others;
}

}  // namespace mgtune
