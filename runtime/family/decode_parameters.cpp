// A design's parameters and its ladder of defaults.

#include <fmt/format.h>

#include <algorithm>

#include "core/suggest.h"
#include "family/decode.h"

namespace mgtune {
namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kWhen = "when";  // of a default, beside the parameters

ValueType type_of(const JsonValue& value) {
  if (value.kind == Kind::boolean) return ValueType::boolean;
  return value.kind == Kind::string ? ValueType::symbol : ValueType::integer;
}

// A dtype among identifiers would be a type in one variant and an enumerator in the next one.
Status check_symbols(const JsonCursor& cursor, const std::vector<std::string>& symbols) {
  const auto dtypes = std::ranges::count_if(
      symbols, [](const std::string& symbol) { return dtype_from_string(symbol).has_value(); });
  if (dtypes == 0 || static_cast<std::size_t>(dtypes) == symbols.size()) return {};
  return cursor.error("either all values are dtypes or none is");
}

Result<std::int64_t> default_value(const JsonCursor& cursor, const Parameter& parameter,
                                   const Scope& scope) {
  std::int64_t value = -1;
  switch (parameter.type) {
    case ValueType::integer: {
      MGTUNE_ASSIGN(value, cursor.integer());
      break;
    }
    case ValueType::boolean: {
      MGTUNE_ASSIGN(const bool truth, cursor.boolean());
      value = truth ? 1 : 0;
      break;
    }
    case ValueType::symbol: {
      MGTUNE_ASSIGN(const std::string symbol, cursor.string());
      value = scope.find_symbol(symbol).value_or(-1);
    }
  }
  if (std::ranges::find(parameter.values, value) == parameter.values.end()) {
    return cursor.error(
        fmt::format("{} is not a value of '{}'", canonical_json(cursor.value()), parameter.name));
  }
  return value;
}

}  // namespace

Result<Parameter> decode_parameter(const JsonCursor& cursor, Scope& scope) {
  if (cursor.key() == kWhen) return cursor.error("'when' is the condition of a default");
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, cursor.elements());
  if (elements.empty()) return cursor.error("an empty list of values");
  Parameter parameter{cursor.key(), type_of(elements[0].value()), {}, 0};
  std::vector<std::string> symbols;
  for (const JsonCursor& element : elements) {
    std::int64_t value = 0;
    if (parameter.type == ValueType::symbol) {
      MGTUNE_ASSIGN(std::string symbol, element.identifier());
      value = scope.intern(symbol);
      symbols.push_back(std::move(symbol));
    } else if (parameter.type == ValueType::boolean) {
      MGTUNE_ASSIGN(const bool truth, element.boolean());
      value = truth ? 1 : 0;
    } else {
      MGTUNE_ASSIGN(value, element.integer());
    }
    if (std::ranges::find(parameter.values, value) != parameter.values.end()) {
      return element.error(fmt::format("{} stands here twice", canonical_json(element.value())));
    }
    parameter.values.push_back(value);
  }
  MGTUNE_TRY(check_symbols(cursor, symbols));
  Result<int> slot = scope.declare(parameter.name, parameter.type, Stage::compile, symbols);
  if (!slot.ok()) return cursor.error(slot.status().message());
  parameter.slot = *slot;
  return parameter;
}

Status decode_defaults(const JsonCursor& defaults, Design& design) {
  std::vector<std::string> names;
  for (const Parameter& parameter : design.params) names.push_back(parameter.name);
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, defaults.elements());
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(const std::vector<JsonCursor> members, element.members());
    for (const JsonCursor& member : members) {
      if (member.key() == kWhen || std::ranges::find(names, member.key()) != names.end()) continue;
      return element.error(fmt::format("'{}' is not a parameter of '{}'{}", member.key(),
                                       design.name, did_you_mean(member.key(), names)));
    }
    Default rung;
    for (const Parameter& parameter : design.params) {
      const auto member = element.find(parameter.name);
      if (!member) return element.error(fmt::format("missing parameter '{}'", parameter.name));
      MGTUNE_ASSIGN(const std::int64_t value, default_value(*member, parameter, design.scope));
      rung.values.push_back(value);
    }
    if (const auto when = element.find(kWhen)) {
      MGTUNE_ASSIGN(rung.when,
                    decode_expression(*when, design.scope, ValueType::boolean, Known::compiling));
    }
    design.defaults.push_back(std::move(rung));
  }
  return {};
}

}  // namespace mgtune
