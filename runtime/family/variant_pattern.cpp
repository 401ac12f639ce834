#include "family/variant_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "family/decode.h"

namespace mgtune {
namespace {

bool reads_parameter(const Expression& expression, const Parameter& parameter) {
  return std::ranges::find(expression.slots(), parameter.slot) != expression.slots().end();
}

// `pending` are parameters of which each reads another one or itself.
template <class Reads>
Status need_each_other(const Design& design, std::vector<std::size_t> pending, const Reads& reads) {
  // A parameter that no other one reads is not part of a circle. It only waits for one.
  const auto only_waits = [&](std::size_t one) {
    return std::ranges::none_of(pending, [&](std::size_t other) { return reads(other, one); });
  };
  for (;;) {
    const auto waiting = std::ranges::find_if(pending, only_waits);
    if (waiting == pending.end()) break;
    pending.erase(waiting);
  }
  std::vector<std::string> names;
  names.reserve(pending.size());
  for (const std::size_t i : pending) names.push_back(design.params[i].name);
  return Status(StatusCode::invalid_argument,
                names.size() == 1 ? fmt::format("the expression of {} needs itself", names.front())
                                  : fmt::format("the expressions of {} need each other",
                                                fmt::join(names, " and ")));
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// The value that a parameter gets if its expression has the value `wanted`.
std::optional<std::int64_t> listed_value(const Parameter& parameter, std::int64_t wanted) {
  if (parameter.type == ValueType::integer) return nearest_value(parameter.values, wanted);
  if (std::ranges::find(parameter.values, wanted) == parameter.values.end()) return std::nullopt;
  return wanted;
}

// A value as it stands in the parameter's list: 4, true, "cp_async", 0.5.
Result<PatternValue> decode_listed_value(const JsonCursor& cursor, const Design& design,
                                         const Parameter& parameter) {
  MGTUNE_ASSIGN(const std::string word, cursor.parameter_word());
  for (const std::int64_t value : parameter.values) {
    if (design.scope.value_text(parameter.type, value) == word) return PatternValue{value, {}};
  }
  return cursor.error(
      fmt::format("{} is not a value of '{}'", canonical_json(cursor.value()), parameter.name));
}

}  // namespace

std::int64_t nearest_value(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  const std::int64_t target = std::max<std::int64_t>(wanted, 1);
  // The largest value up to the target, and the smallest value above it.
  std::optional<std::int64_t> below, above;
  for (const std::int64_t value : values) {
    if (value <= target) {
      below = std::max(below.value_or(value), value);
    } else {
      above = std::min(above.value_or(value), value);
    }
  }
  if (!below || !above) return below ? *below : *above;
  // target / below <= above / target
  const double square = static_cast<double>(target) * static_cast<double>(target);
  return square <= static_cast<double>(*below) * static_cast<double>(*above) ? *below : *above;
}

Result<std::vector<std::size_t>> evaluation_order(const Design& design,
                                                  const std::vector<PatternValue>& values) {
  std::vector<std::size_t> pending, order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].expression) pending.push_back(i);
  }
  const auto reads = [&](std::size_t one, std::size_t other) {
    return reads_parameter(*values[one].expression, design.params[other]);
  };
  while (!pending.empty()) {
    const auto next = std::ranges::find_if(pending, [&](std::size_t one) {
      return std::ranges::none_of(pending, [&](std::size_t other) { return reads(one, other); });
    });
    if (next == pending.end()) return need_each_other(design, std::move(pending), reads);
    order.push_back(*next);
    pending.erase(next);
  }
  return order;
}

std::optional<Variant> variant_of(const VariantPattern& pattern, const Binding& binding,
                                  const DeviceLimits& device) {
  const Design& design = binding.op->designs[static_cast<std::size_t>(pattern.design)];
  Variant variant{pattern.design, {}};
  for (const PatternValue& value : pattern.values) variant.values.push_back(value.value);
  const auto order = evaluation_order(design, pattern.values);
  if (!order.ok()) return std::nullopt;
  if (order->empty()) return variant;
  Slots slots = binding.slots;
  slots.resize(design.scope.size());
  set_device_slots(device, slots);
  const auto set = [&](std::size_t i) {
    slots[static_cast<std::size_t>(design.params[i].slot)] = variant.values[i];
  };
  for (std::size_t i = 0; i < variant.values.size(); ++i) set(i);
  for (const std::size_t i : *order) {
    const Result<std::int64_t> wanted = pattern.values[i].expression->evaluate(slots);
    if (!wanted.ok()) return std::nullopt;
    const auto value = listed_value(design.params[i], *wanted);
    if (!value) return std::nullopt;
    variant.values[i] = *value;
    set(i);
  }
  return variant;
}

VariantPattern pattern_of(const Variant& variant) {
  VariantPattern pattern{variant.design, {}};
  for (const std::int64_t value : variant.values) pattern.values.push_back({value, {}});
  return pattern;
}

std::string pattern_text(const Operator& op, const VariantPattern& pattern) {
  const Design& design = op.designs[static_cast<std::size_t>(pattern.design)];
  std::string text = design.name;
  for (std::size_t i = 0; i < design.params.size(); ++i) {
    const PatternValue& value = pattern.values[i];
    text +=
        fmt::format(" {}={}", design.params[i].name,
                    value.expression ? without_spaces(value.expression->text())
                                     : design.scope.value_text(design.params[i].type, value.value));
  }
  return text;
}

bool is_expression_of(const Parameter& parameter, const JsonCursor& cursor) {
  return parameter.type != ValueType::symbol && cursor.value().kind == JsonValue::Kind::string;
}

Result<PatternValue> decode_pattern_expression(const JsonCursor& cursor, const Design& design,
                                               const Parameter& parameter) {
  PatternValue value;
  MGTUNE_ASSIGN(value.expression,
                decode_expression(cursor, {design.scope, parameter.type, Known::compiling}));
  for (const Let& let : design.lets) {
    if (std::ranges::find(value.expression->slots(), let.slot) == value.expression->slots().end()) {
      continue;
    }
    return cursor.error(fmt::format(
        "'{}' is a let; the expression of a parameter may use dims, dtypes, flags, device.* and "
        "other parameters",
        let.name));
  }
  return value;
}

Result<VariantPattern> decode_pattern(const JsonCursor& design, const JsonCursor& parameters,
                                      const Operator& op) {
  MGTUNE_ASSIGN(const std::string name, design.string());
  const auto found = std::ranges::find(op.designs, name, &Design::name);
  if (found == op.designs.end()) {
    return design.error(fmt::format("{} has no design '{}'{}", op.full_name(), name,
                                    did_you_mean(name, op.designs, &Design::name)));
  }
  VariantPattern pattern{static_cast<int>(found - op.designs.begin()), {}};
  for (const Parameter& parameter : found->params) {
    const auto member = parameters.find(parameter.name);
    if (!member) return parameters.error(fmt::format("missing parameter '{}'", parameter.name));
    MGTUNE_ASSIGN(PatternValue value, is_expression_of(parameter, *member)
                                          ? decode_pattern_expression(*member, *found, parameter)
                                          : decode_listed_value(*member, *found, parameter));
    pattern.values.push_back(std::move(value));
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, parameters.members());
  for (const JsonCursor& member : members) {
    if (std::ranges::find(found->params, member.key(), &Parameter::name) != found->params.end()) {
      continue;
    }
    return member.error(fmt::format("'{}' is not a parameter of '{}'{}", member.key(), name,
                                    did_you_mean(member.key(), found->params, &Parameter::name)));
  }
  const auto order = evaluation_order(*found, pattern.values);
  if (!order.ok()) return parameters.error(order.status().message());
  return pattern;
}

}  // namespace mgtune
