#include "family/variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/text.h"
#include "core/variant_words.h"
#include "family/variant_pattern.h"

namespace mgtune {
namespace {

const Design& design_of(const Operator& op, const Variant& variant) {
  return op.designs[static_cast<std::size_t>(variant.design)];
}

Result<int> find_design(const Operator& op, const std::string& word) {
  const auto found = std::ranges::find(op.designs, word, &Design::name);
  if (found != op.designs.end()) return static_cast<int>(found - op.designs.begin());
  return invalid_argument(fmt::format("{} has no design '{}'{}", op.full_name(), word,
                                      did_you_mean(word, op.designs, &Design::name)));
}

Result<std::int64_t> parse_value(const Design& design, const Parameter& parameter,
                                 const std::string& word) {
  std::vector<std::string> listed;
  for (const std::int64_t value : parameter.values) {
    listed.push_back(design.scope.value_text(parameter.type, value));
  }
  const auto found = std::ranges::find(listed, word);
  if (found != listed.end()) {
    return parameter.values[static_cast<std::size_t>(found - listed.begin())];
  }
  return invalid_argument(
      fmt::format("{}: '{}' is not one of {}", parameter.name, word, fmt::join(listed, ", ")));
}

bool holds(const Expression& condition, std::span<const std::int64_t> slots) {
  const Result<std::int64_t> value = condition.evaluate(slots);
  return value.ok() && *value != 0;
}

Status evaluate_lets_between(const Design& design, Stage first, Stage last,
                             std::span<std::int64_t> slots) {
  for (const Let& let : design.lets) {
    if (let.value.stage() < first || let.value.stage() > last) continue;
    Result<std::int64_t> value = let.value.evaluate(slots);
    if (!value.ok()) return std::move(value).take_status().with_context(let.name);
    slots[static_cast<std::size_t>(let.slot)] = *value;
  }
  return {};
}

// The text of a template argument in C++.
std::string argument_text(const Design& design, const Expression& argument, std::int64_t value) {
  if (argument.type() != ValueType::symbol) {
    return design.scope.value_text(argument.type(), value);
  }
  if (is_dtype(value)) return std::string(cuda_name(static_cast<DType>(value)));
  const std::string& symbol = design.scope.symbol_text(value);
  if (is_real_text(symbol)) return symbol + "f";  // NVRTC refuses a double for a float
  return fmt::format("{}::{}", argument.text(), symbol);
}

// The text that replaces a macro. Booleans are 1 and 0, because an #if compares numbers.
std::string macro_text(const Design& design, ValueType type, std::int64_t value) {
  if (type == ValueType::boolean) return value != 0 ? "1" : "0";
  if (type == ValueType::symbol && is_dtype(value)) {
    return std::string(cuda_name(static_cast<DType>(value)));
  }
  return design.scope.value_text(type, value);
}

}  // namespace

std::string variant_text(const Operator& op, const Variant& variant) {
  const Design& design = design_of(op, variant);
  std::string text = design.name;
  for (std::size_t i = 0; i < design.params.size(); ++i) {
    const Parameter& parameter = design.params[i];
    text += fmt::format(" {}={}", parameter.name,
                        design.scope.value_text(parameter.type, variant.values[i]));
  }
  return text;
}

Result<Variant> parse_variant(const Operator& op, std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  Variant variant;
  MGTUNE_ASSIGN(variant.design, find_design(op, std::string(word)));
  MGTUNE_ASSIGN(auto words, parse_assignments(text.substr(word.size())));
  const Design& design = design_of(op, variant);
  std::vector<std::string> names;
  for (const Parameter& parameter : design.params) {
    const auto given = words.find(parameter.name);
    names.push_back(parameter.name);
    if (given == words.end()) continue;
    MGTUNE_ASSIGN(const std::int64_t value, parse_value(design, parameter, given->second));
    variant.values.push_back(value);
    words.erase(given);
  }
  if (!words.empty()) {
    const std::string& unknown = words.begin()->first;
    return invalid_argument(fmt::format("'{}' is not a parameter of '{}'{}", unknown, design.name,
                                        did_you_mean(unknown, names)));
  }
  if (variant.values.size() < names.size()) {
    return invalid_argument(
        fmt::format("'{}' needs a value for each of {}", design.name, fmt::join(names, " ")));
  }
  return variant;
}

bool is_of_another_version(const Operator& op, std::string_view text) {
  constexpr std::string_view kWordCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.=-:+*<>& ";
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.empty() || text.find_first_not_of(kWordCharacters) != text.npos) return false;
  const std::string_view word = text.substr(0, text.find(' '));
  const auto words = parse_assignments(text.substr(word.size()));
  if (!words.ok()) return false;
  const Result<int> found = find_design(op, std::string(word));
  if (!found.ok()) return true;
  const Design& design = op.designs[static_cast<std::size_t>(*found)];
  const auto is_given = [&](const Parameter& parameter) { return words->contains(parameter.name); };
  return words->size() != design.params.size() || !std::ranges::all_of(design.params, is_given);
}

void set_device_slots(const DeviceLimits& device, Slots& slots) {
  slots[kSlotDeviceCc] = device.compute_capability;
  slots[kSlotDeviceSmCount] = device.sm_count;
  slots[kSlotDeviceMaxShared] = device.max_shared_bytes;
  slots[kSlotDeviceL2Bytes] = device.l2_bytes;
}

Result<Slots> compile_slots(const Binding& binding, const Variant& variant,
                            const DeviceLimits& device) {
  const Design& design = design_of(*binding.op, variant);
  Slots slots = binding.slots;
  slots.resize(design.scope.size());
  set_device_slots(device, slots);
  for (std::size_t i = 0; i < design.params.size(); ++i) {
    slots[static_cast<std::size_t>(design.params[i].slot)] = variant.values[i];
  }
  MGTUNE_TRY(evaluate_lets_between(design, Stage::compile, Stage::compile, slots));
  return slots;
}

Status evaluate_lets(const Design& design, Stage up_to, std::span<std::int64_t> slots) {
  return evaluate_lets_between(design, Stage::load, up_to, slots);
}

bool is_admissible(const Operator& op, const Variant& variant, const Slots& slots) {
  const Design& design = design_of(op, variant);
  const auto holds_here = [&slots](const Expression& condition) {
    return condition.stage() != Stage::compile || holds(condition, slots);
  };
  return std::ranges::all_of(design.requirements, holds_here) &&
         std::ranges::all_of(design.constraints, holds_here);
}

bool serves(const Operator& op, const Variant& variant, const Slots& slots) {
  const Design& design = design_of(op, variant);
  Slots values = slots;
  if (!evaluate_lets(design, Stage::launch, values).ok()) return false;
  return std::ranges::all_of(design.constraints, [&values](const Expression& constraint) {
    return constraint.stage() == Stage::compile || holds(constraint, values);
  });
}

std::vector<bool> slots_that_need_build(const Design& design) {
  std::vector<bool> found(design.scope.size(), false);
  found[kSlotBuildBlocksPerSm] = found[kSlotBuildMaxClusters] = true;
  for (const Let& let : design.lets) {
    if (needs_build(let.value, found)) found[static_cast<std::size_t>(let.slot)] = true;
  }
  return found;
}

bool needs_build(const Expression& expression, const std::vector<bool>& slots_that_need_build) {
  return std::ranges::any_of(expression.slots(), [&](int slot) {
    return slots_that_need_build[static_cast<std::size_t>(slot)];
  });
}

Result<std::vector<std::string>> kernel_names(const Operator& op, const Variant& variant,
                                              const Slots& slots) {
  const Design& design = design_of(op, variant);
  std::vector<std::string> names;
  for (const Launch& launch : design.launches) {
    std::vector<std::string> arguments;
    for (const Expression& argument : launch.kernel.arguments) {
      MGTUNE_ASSIGN(const std::int64_t value, argument.evaluate(slots));
      arguments.push_back(argument_text(design, argument, value));
    }
    std::string name = launch.kernel.name;
    if (!arguments.empty()) name += fmt::format("<{}>", fmt::join(arguments, ", "));
    if (!launch.kernel.parameters.empty()) {
      name = fmt::format("static_cast<void (&)({})>({})", launch.kernel.parameters, name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<MacroDefinition>> macro_definitions(const Operator& op, const Variant& variant,
                                                       const Slots& slots) {
  const Design& design = design_of(op, variant);
  std::vector<MacroDefinition> macros;
  for (const Define& define : design.defines) {
    Result<std::int64_t> value = define.value.evaluate(slots);
    if (!value.ok()) return std::move(value).take_status().with_context(define.macro);
    macros.push_back({define.macro, macro_text(design, define.value.type(), *value)});
  }
  return macros;
}

Result<std::vector<std::string>> compile_options(const Operator& op, const Variant& variant,
                                                 const Slots& slots) {
  constexpr std::int64_t kMaxRegisters = 255;
  std::vector<std::string> options;
  for (const CompileOption& option : design_of(op, variant).options) {
    Result<std::int64_t> value = option.value.evaluate(slots);
    if (!value.ok()) return std::move(value).take_status().with_context(option.name);
    switch (option.kind) {
      case CompileOption::Kind::flag:
        if (*value != 0) options.push_back(option.name);
        break;
      case CompileOption::Kind::boolean:
        options.push_back(option.name + (*value != 0 ? "=true" : "=false"));
        break;
      case CompileOption::Kind::number:
        if (*value < 0 || *value > kMaxRegisters) {
          return invalid_argument(fmt::format("{}={}: expected 1 to {}, or 0 for no limit",
                                              option.name, *value, kMaxRegisters));
        }
        if (*value != 0) options.push_back(fmt::format("{}={}", option.name, *value));
        break;
    }
  }
  return options;
}

std::vector<Variant> default_ladder(const Binding& binding, const DeviceLimits& device) {
  const Operator& op = *binding.op;
  std::vector<Variant> meant, others;
  for (std::size_t design = 0; design < op.designs.size(); ++design) {
    for (const Default& rung : op.designs[design].defaults) {
      std::optional<Variant> variant =
          variant_of({static_cast<int>(design), rung.values}, binding, device);
      if (!variant) continue;
      const Result<Slots> slots = compile_slots(binding, *variant, device);
      const bool is_meant = !rung.when || (slots.ok() && holds(*rung.when, *slots));
      (is_meant ? meant : others).push_back(*std::move(variant));
    }
  }
  std::vector<Variant> ladder;
  for (std::vector<Variant>* part : {&meant, &others}) {
    for (Variant& variant : *part) {
      if (std::ranges::find(ladder, variant) == ladder.end()) ladder.push_back(std::move(variant));
    }
  }
  return ladder;
}

}  // namespace mgtune
