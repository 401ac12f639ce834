// Reads a design: its source, parameters, lets, constraints, workspace, launches and defaults.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/text.h"
#include "core/variant_words.h"
#include "family/decode.h"
#include "family/variant_pattern.h"

namespace mgtune {
namespace {

// "sm_90", "sm_90a", "sm_100f"
bool is_arch(std::string_view word) {
  if (!word.starts_with("sm_")) return false;
  word.remove_prefix(3);
  if (word.ends_with('a') || word.ends_with('f')) word.remove_suffix(1);
  return (word.size() == 2 || word.size() == 3) &&
         std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// The points of an operator are numbered. With this limit, all of its designs stay far below 2^64.
constexpr std::uint64_t kMaxPointsOfDesign = 1'000'000'000'000'000;

constexpr std::string_view kWhen = "when";  // of a default, beside the parameters

// Identifiers, strings and floating numbers are symbols.
ValueType type_of(const JsonValue& value) {
  if (value.kind == JsonValue::Kind::number) return ValueType::symbol;
  if (value.kind == JsonValue::Kind::boolean) return ValueType::boolean;
  return value.kind == JsonValue::Kind::string ? ValueType::symbol : ValueType::integer;
}

// A dtype among identifiers would be a type in one variant and an enumerator in the next one.
Status check_symbols(const JsonCursor& cursor, const std::vector<std::string>& symbols) {
  const auto dtypes = std::ranges::count_if(
      symbols, [](const std::string& symbol) { return dtype_from_string(symbol).has_value(); });
  if (dtypes == 0 || static_cast<std::size_t>(dtypes) == symbols.size()) return {};
  return cursor.error("either all values are dtypes or none is");
}

// The text of a value that is a symbol. In a list of floating numbers, 1 is 1.0.
Result<std::string> decode_symbol(const JsonCursor& cursor, bool is_real) {
  if (is_real) {
    MGTUNE_ASSIGN(const double number, cursor.number());
    return real_text(number);
  }
  if (cursor.value().kind != JsonValue::Kind::string) return cursor.identifier();
  const std::string& symbol = cursor.value().string;
  const bool is_number = whole_number(symbol) || is_real_text(symbol);
  if (is_value_word(symbol) && !is_number) return symbol;
  return cursor.error(
      fmt::format("'{}' cannot be a value: a string has 1 to 64 letters, digits "
                  "and _.:+-*<>&, and is no number",
                  symbol));
}

// A value of a parameter. A new symbol is added to the scope.
Result<std::int64_t> decode_parameter_value(const JsonCursor& cursor, ValueType type, bool is_real,
                                            Scope& scope) {
  if (type == ValueType::integer) return cursor.integer();
  if (type == ValueType::boolean) {
    MGTUNE_ASSIGN(const bool is_true, cursor.boolean());
    return is_true ? 1 : 0;
  }
  MGTUNE_ASSIGN(const std::string symbol, decode_symbol(cursor, is_real));
  return scope.intern(symbol);
}

Result<Parameter> decode_parameter(const JsonCursor& cursor, Scope& scope) {
  if (cursor.key() == kWhen) return cursor.error("'when' is the condition of a default");
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, cursor.elements());
  if (elements.empty()) return cursor.error("an empty list of values");
  Parameter parameter{cursor.key(), type_of(elements[0].value()), {}, 0, false};
  parameter.is_real = elements[0].value().kind == JsonValue::Kind::number;
  std::vector<std::string> symbols;
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(const std::int64_t value,
                  decode_parameter_value(element, parameter.type, parameter.is_real, scope));
    if (parameter.type == ValueType::symbol) symbols.push_back(scope.symbol_text(value));
    if (std::ranges::find(parameter.values, value) != parameter.values.end()) {
      return element.error(fmt::format("{} stands here twice", canonical_json(element.value())));
    }
    parameter.values.push_back(value);
  }
  MGTUNE_TRY(check_symbols(cursor, symbols));
  MGTUNE_ASSIGN(parameter.slot, cursor.located(scope.declare(parameter.name, parameter.type,
                                                             Stage::compile, symbols)));
  return parameter;
}

void decode_parameters(const JsonCursor& params, Design& design, NameTable& names,
                       Mistakes& mistakes) {
  std::vector<JsonCursor> members;
  mistakes.add(params.members(), members);
  std::uint64_t points = 1;
  for (const JsonCursor& member : members) {
    Parameter parameter{};
    if (!mistakes.add(names.claim(member, "a parameter"))) continue;
    if (!mistakes.add(decode_parameter(member, design.scope), parameter)) continue;
    if (parameter.values.size() > kMaxPointsOfDesign / points) {
      mistakes.add(member.error(
          "with this parameter the design has more than 10^15 points; spread it over designs, "
          "whose points add instead of multiplying"));
      return;
    }
    points *= parameter.values.size();
    design.params.push_back(std::move(parameter));
  }
}

Status decode_let(const JsonCursor& cursor, Design& design) {
  Expression value = Expression::integer(cursor.value().integer);
  if (cursor.value().kind != JsonValue::Kind::integer) {
    MGTUNE_ASSIGN(const std::string text, cursor.string());
    MGTUNE_ASSIGN(value, cursor.located(Expression::parse(text, design.scope)));
  }
  if (value.type() == ValueType::symbol) {
    return cursor.error("a let is an integer or a boolean, not an identifier");
  }
  MGTUNE_ASSIGN(const int slot,
                cursor.located(design.scope.declare(cursor.key(), value.type(), value.stage())));
  design.lets.push_back({cursor.key(), std::move(value), slot});
  return {};
}

Status decode_lets(const JsonCursor& lets, Design& design, NameTable& names) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, lets.members());
  for (const JsonCursor& member : members) {
    MGTUNE_TRY(names.claim(member, "a let"));
    design.scope.refuse(member.key(),
                        fmt::format("'{}' is defined further down; a let may use only those "
                                    "before it",
                                    member.key()));
  }
  for (const JsonCursor& member : members) MGTUNE_TRY(decode_let(member, design));
  return {};
}

Status decode_estimate(const JsonCursor& cursor, Design& design) {
  MGTUNE_TRY(read_expression(cursor, "estimate",
                             {design.scope, ValueType::integer, Known::before_launch},
                             design.estimate));
  if (!design.estimate || !needs_build(*design.estimate, slots_that_need_build(design))) return {};
  return cursor.at("estimate")
      .error("it needs build.*, but the ladder is ordered before anything is built");
}

Status decode_alignments(const JsonCursor& align, const Operator& op, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, align.members());
  for (const JsonCursor& member : members) {
    MGTUNE_ASSIGN(const int tensor, find_tensor(member, op, member.key()));
    MGTUNE_ASSIGN(Expression bytes,
                  decode_expression(member, {design.scope, ValueType::integer, Known::compiling}));
    design.alignments.push_back({tensor, std::move(bytes)});
  }
  return {};
}

// "d_filter", "filters::d_filter"
bool is_qualified_name(std::string_view word) {
  constexpr std::string_view kScope = "::";
  const std::size_t scope = word.find(kScope);
  if (scope == word.npos) return is_identifier(word);
  return is_identifier(word.substr(0, scope)) &&
         is_qualified_name(word.substr(scope + kScope.size()));
}

Status decode_constants(const JsonCursor& constants, const Operator& op, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, constants.members());
  if (members.size() > kMaxConstants) {
    return constants.error(
        fmt::format("at most {} tensors can be in constant memory, and here are "
                    "{}",
                    kMaxConstants, members.size()));
  }
  for (const JsonCursor& member : members) {
    MGTUNE_ASSIGN(const int index, find_tensor(member, op, member.key()));
    const Tensor& tensor = op.tensors[static_cast<std::size_t>(index)];
    if (tensor.role != Role::in || !tensor.strides.empty()) {
      return member.error(fmt::format(
          "'{}' cannot be in constant memory: only a tensor with the role in and without strides "
          "is copied there",
          tensor.name));
    }
    MGTUNE_ASSIGN(std::string symbol, member.string());
    if (!is_qualified_name(symbol)) {
      return member.error(
          fmt::format("'{}' is not the C++ name of a __constant__ variable", symbol));
    }
    if (std::ranges::find(design.constants, symbol, &Constant::symbol) != design.constants.end()) {
      return member.error(fmt::format("'{}' holds another tensor already", symbol));
    }
    design.constants.push_back({index, std::move(symbol)});
  }
  return {};
}

Status decode_workspace(const JsonCursor& workspace, const Operator& op, Design& design,
                        NameTable& names) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, workspace.members());
  for (const JsonCursor& member : members) {
    MGTUNE_TRY(names.claim(member, "a workspace"));
    MGTUNE_TRY(member.expect_keys({"dtype", "shape"}, {"when", "zero"}));
    Workspace buffer;
    buffer.name = member.key();
    MGTUNE_TRY(read_expression(
        member, "when", {design.scope, ValueType::boolean, Known::before_launch}, buffer.when));
    MGTUNE_ASSIGN(buffer.dtype, decode_dtype(member.at("dtype"), op));
    MGTUNE_TRY(read_expressions(member, "shape",
                                {design.scope, ValueType::integer, Known::before_launch},
                                buffer.shape, 1, 8));
    MGTUNE_TRY(member.read_choice("zero", {"never", "once", "each_launch"}, buffer.zero));
    design.scope.refuse(buffer.name, fmt::format("'{}' is a workspace, not a value", buffer.name));
    design.workspace.push_back(std::move(buffer));
  }
  return {};
}

bool reads_build(const Expression& expression) {
  return std::ranges::any_of(expression.slots(), [](int slot) {
    return slot == kSlotBuildBlocksPerSm || slot == kSlotBuildMaxClusters;
  });
}

// build.* says how often the first launch fits on the device, so its shared memory must not depend
// on the dims of a launch.
Status check_first_launch(const JsonCursor& launches, const Design& design) {
  const auto lets = std::ranges::any_of(design.lets, reads_build, &Let::value);
  const auto constraints = std::ranges::any_of(design.constraints, reads_build);
  const auto grids = std::ranges::any_of(design.launches, [](const Launch& launch) {
    return std::ranges::any_of(launch.grid, reads_build);
  });
  if (!lets && !constraints && !grids) return {};
  const auto shared = launches.elements().value().front().find("shared");
  if (!shared) return {};
  return check_known(*shared, design.launches.front().shared, design.scope, Known::compiling);
}

void decode_launches(const JsonCursor& launches, const Operator& op, Design& design,
                     const NameTable& names, Mistakes& mistakes) {
  std::vector<JsonCursor> elements;
  if (!mistakes.add(launches.elements(), elements)) return;
  if (elements.empty()) {
    mistakes.add(launches.error("a design needs at least one launch"));
    return;
  }
  const std::size_t before = mistakes.count();
  for (const JsonCursor& element : elements) {
    design.launches.push_back(decode_launch(element, op, design, names, mistakes));
  }
  if (mistakes.count() == before) mistakes.add(check_first_launch(launches, design));
}

Status decode_default(const JsonCursor& cursor, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, cursor.members());
  for (const JsonCursor& member : members) {
    const std::string& name = member.key();
    const auto parameter = std::ranges::find(design.params, name, &Parameter::name);
    if (name == kWhen || parameter != design.params.end()) continue;
    return cursor.error(fmt::format("'{}' is not a parameter of '{}'{}", name, design.name,
                                    did_you_mean(name, design.params, &Parameter::name)));
  }
  Default& rung = design.defaults.emplace_back();
  for (const Parameter& parameter : design.params) {
    const auto member = cursor.find(parameter.name);
    if (!member) return cursor.error(fmt::format("missing parameter '{}'", parameter.name));
    if (is_expression_of(parameter, *member)) {
      MGTUNE_ASSIGN(PatternValue value, decode_pattern_expression(*member, design, parameter));
      rung.values.push_back(std::move(value));
      continue;
    }
    MGTUNE_ASSIGN(const std::int64_t value,
                  decode_parameter_value(*member, parameter.type, parameter.is_real, design.scope));
    if (std::ranges::find(parameter.values, value) == parameter.values.end()) {
      return member->error(fmt::format("{} is not a value of '{}'", canonical_json(member->value()),
                                       parameter.name));
    }
    rung.values.push_back({value, {}});
  }
  const auto order = evaluation_order(design, rung.values);
  if (!order.ok()) return cursor.error(order.status().message());
  return read_expression(cursor, kWhen, {design.scope, ValueType::boolean, Known::compiling},
                         rung.when);
}

void decode_defaults(const JsonCursor& defaults, Design& design, Mistakes& mistakes) {
  std::vector<JsonCursor> elements;
  mistakes.add(defaults.elements(), elements);
  for (const JsonCursor& element : elements) mistakes.add(decode_default(element, design));
}

// A unit may use parameters without a unit, and parameters whose unit stands before it.
Status decode_units(const JsonCursor& units, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, units.members());
  for (const JsonCursor& member : members) {
    const auto found = std::ranges::find(design.params, member.key(), &Parameter::name);
    if (found == design.params.end()) {
      return member.error(fmt::format("'{}' is not a parameter of '{}'{}", member.key(),
                                      design.name,
                                      did_you_mean(member.key(), design.params, &Parameter::name)));
    }
    if (found->type == ValueType::symbol) {
      return member.error(
          fmt::format("the values of '{}' are neither integers nor booleans", found->name));
    }
    MGTUNE_ASSIGN(PatternValue value, decode_pattern_expression(member, design, *found));
    design.units.push_back(
        {static_cast<std::size_t>(found - design.params.begin()), *std::move(value.expression)});
  }
  for (std::size_t i = 0; i < design.units.size(); ++i) {
    for (std::size_t later = i; later < design.units.size(); ++later) {
      const Parameter& parameter = design.params[design.units[later].parameter];
      const std::span<const int> read = design.units[i].value.slots();
      if (std::ranges::find(read, parameter.slot) == read.end()) continue;
      if (later == i) {
        return members[i].error(fmt::format("the unit of '{}' needs itself", parameter.name));
      }
      return members[i].error(fmt::format(
          "'{}' has a unit itself, which has to stand before this one", parameter.name));
    }
  }
  return {};
}

// The architecture, the parameters and the lets, whose names the rest of a design may use.
void decode_values_of(const JsonCursor& cursor, Design& design, NameTable& names,
                      Mistakes& mistakes) {
  mistakes.add(decode_source_path(cursor.at("source")), design.source);
  if (const auto arch = cursor.find("arch")) {
    if (mistakes.add(arch->read(design.arch)) && !is_arch(design.arch)) {
      mistakes.add(
          arch->error(fmt::format("'{}' is not an architecture such as sm_90a", design.arch)));
    }
  }
  const std::size_t before = mistakes.count();
  decode_parameters(cursor.at("params"), design, names, mistakes);
  const auto lets = cursor.find("let");
  // A let may use parameters.
  if (lets && mistakes.count() == before) mistakes.add(decode_lets(*lets, design, names));
}

}  // namespace

Design decode_design(const JsonCursor& cursor, const Operator& op, NameTable names,
                     Mistakes& mistakes) {
  Design design;
  design.name = cursor.key();
  const std::size_t before = mistakes.count();
  mistakes.add(cursor.expect_keys(
      {"source", "params", "launches"},
      {"arch", "requires", "constraints", "let", "defines", "options", "align", "constants",
       "workspace", "defaults", "units", "order_dependent", "estimate"}));
  if (mistakes.count() > before) return design;
  if (!is_identifier(design.name)) {
    mistakes.add(cursor.error(fmt::format("the name '{}' is not a C identifier", design.name)));
  }
  design.scope = op.scope;
  decode_values_of(cursor, design, names, mistakes);
  // Without these names, every other part would report unknown names.
  if (mistakes.count() > before) return design;
  if (const auto defines = cursor.find("defines")) mistakes.add(decode_defines(*defines, design));
  if (const auto options = cursor.find("options")) mistakes.add(decode_options(*options, design));
  collect_expressions(cursor, "requires", {design.scope, ValueType::boolean, Known::compiling},
                      design.requirements, mistakes);
  collect_expressions(cursor, "constraints",
                      {design.scope, ValueType::boolean, Known::before_launch}, design.constraints,
                      mistakes);
  mistakes.add(decode_estimate(cursor, design));
  if (const auto align = cursor.find("align")) {
    mistakes.add(decode_alignments(*align, op, design));
  }
  if (const auto constants = cursor.find("constants")) {
    mistakes.add(decode_constants(*constants, op, design));
  }
  const auto workspace = cursor.find("workspace");
  // The arguments of a launch name the workspace.
  if (!workspace || mistakes.add(decode_workspace(*workspace, op, design, names))) {
    decode_launches(cursor.at("launches"), op, design, names, mistakes);
  }
  if (const auto defaults = cursor.find("defaults")) decode_defaults(*defaults, design, mistakes);
  if (const auto units = cursor.find("units")) mistakes.add(decode_units(*units, design));
  mistakes.add(cursor.read("order_dependent", design.order_dependent));
  if (mistakes.count() == before) design.launch_text = launch_text(cursor);
  return design;
}

}  // namespace mgtune
