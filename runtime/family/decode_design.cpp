// A design: its source, parameters, lets, constraints, workspace and launches.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/suggest.h"
#include "family/decode.h"

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

// Points are numbered. The designs of an operator together stay far below 2^64.
constexpr std::uint64_t kMostPoints = 1'000'000'000'000'000;

Status decode_parameters(const JsonCursor& params, Design& design, NameTable& names) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, params.members());
  std::uint64_t points = 1;
  for (const JsonCursor& member : members) {
    MGTUNE_TRY(names.claim(member, "a parameter"));
    MGTUNE_ASSIGN(Parameter parameter, decode_parameter(member, design.scope));
    if (parameter.values.size() > kMostPoints / points) {
      return member.error(
          "with this parameter the design has more than 10^15 points; spread it over designs, "
          "whose points add instead of multiplying");
    }
    points *= parameter.values.size();
    design.params.push_back(std::move(parameter));
  }
  return {};
}

Status decode_let(const JsonCursor& cursor, Design& design) {
  Result<Expression> value = Expression::integer(cursor.value().integer);
  if (cursor.value().kind != JsonValue::Kind::integer) {
    MGTUNE_ASSIGN(const std::string text, cursor.string());
    value = Expression::parse(text, design.scope);
    if (!value.ok()) return cursor.error(value.status().message());
  }
  if (value->type() == ValueType::symbol) {
    return cursor.error("a let is an integer or a boolean, not an identifier");
  }
  Result<int> slot = design.scope.declare(cursor.key(), value->type(), value->stage());
  if (!slot.ok()) return cursor.error(slot.status().message());
  design.lets.push_back({cursor.key(), std::move(value).value(), *slot});
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

Status decode_alignments(const JsonCursor& align, const Operator& op, Design& design) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, align.members());
  for (const JsonCursor& member : members) {
    const auto tensor = std::ranges::find(op.tensors, member.key(), &Tensor::name);
    if (tensor == op.tensors.end()) {
      std::vector<std::string> tensors;
      for (const Tensor& known : op.tensors) tensors.push_back(known.name);
      return member.error(
          fmt::format("'{}' is not a tensor{}", member.key(), did_you_mean(member.key(), tensors)));
    }
    MGTUNE_ASSIGN(Expression bytes,
                  decode_expression(member, design.scope, ValueType::integer, Known::compiling));
    design.alignments.push_back({static_cast<int>(tensor - op.tensors.begin()), std::move(bytes)});
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
    if (const auto when = member.find("when")) {
      MGTUNE_ASSIGN(buffer.when, decode_expression(*when, design.scope, ValueType::boolean,
                                                   Known::before_launch));
    }
    MGTUNE_ASSIGN(buffer.dtype, decode_dtype(member.at("dtype"), op));
    MGTUNE_ASSIGN(buffer.shape, decode_expressions(member.at("shape"), design.scope,
                                                   ValueType::integer, Known::before_launch, 1, 8));
    if (const auto zero = member.find("zero")) {
      MGTUNE_ASSIGN(const std::size_t choice, zero->choice({"never", "once", "each_launch"}));
      buffer.zero = static_cast<Zero>(choice);
    }
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

Status decode_launches(const JsonCursor& launches, const Operator& op, Design& design,
                       const NameTable& names) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, launches.elements());
  if (elements.empty()) return launches.error("a design needs at least one launch");
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(Launch launch, decode_launch(element, op, design, names));
    design.launches.push_back(std::move(launch));
  }
  return check_first_launch(launches, design);
}

// The parts of the design that determine how a build is launched.
std::string launch_text(const JsonCursor& cursor) {
  JsonValue shaping;
  shaping.kind = JsonValue::Kind::object;
  for (const char* key : {"align", "arch", "launches", "let", "workspace"}) {
    if (const JsonValue* value = cursor.value().find(key)) {
      shaping.keys.emplace_back(key);
      shaping.items.push_back(*value);
    }
  }
  return canonical_json(shaping);
}

Status decode_conditions(const JsonCursor& cursor, Design& design) {
  if (const auto requires_ = cursor.find("requires")) {
    MGTUNE_ASSIGN(design.requirements, decode_expressions(*requires_, design.scope,
                                                          ValueType::boolean, Known::compiling));
  }
  if (const auto constraints = cursor.find("constraints")) {
    MGTUNE_ASSIGN(design.constraints, decode_expressions(*constraints, design.scope,
                                                         ValueType::boolean, Known::before_launch));
  }
  return {};
}

}  // namespace

Result<Design> decode_design(const JsonCursor& cursor, const Operator& op, NameTable names) {
  MGTUNE_TRY(cursor.expect_keys({"source", "params", "launches"},
                                {"arch", "requires", "constraints", "let", "align", "workspace",
                                 "defaults", "order_dependent"}));
  Design design;
  design.name = cursor.key();
  if (!is_identifier(design.name)) {
    return cursor.error(fmt::format("the name '{}' is not a C identifier", design.name));
  }
  design.scope = op.scope;
  MGTUNE_ASSIGN(design.source, decode_source_path(cursor.at("source")));
  if (const auto arch = cursor.find("arch")) {
    MGTUNE_ASSIGN(design.arch, arch->string());
    if (!is_arch(design.arch)) {
      return arch->error(fmt::format("'{}' is not an architecture such as sm_90a", design.arch));
    }
  }
  MGTUNE_TRY(decode_parameters(cursor.at("params"), design, names));
  if (const auto lets = cursor.find("let")) MGTUNE_TRY(decode_lets(*lets, design, names));
  MGTUNE_TRY(decode_conditions(cursor, design));
  if (const auto align = cursor.find("align")) MGTUNE_TRY(decode_alignments(*align, op, design));
  if (const auto workspace = cursor.find("workspace")) {
    MGTUNE_TRY(decode_workspace(*workspace, op, design, names));
  }
  MGTUNE_TRY(decode_launches(cursor.at("launches"), op, design, names));
  if (const auto defaults = cursor.find("defaults")) MGTUNE_TRY(decode_defaults(*defaults, design));
  if (const auto order_dependent = cursor.find("order_dependent")) {
    MGTUNE_ASSIGN(design.order_dependent, order_dependent->boolean());
  }
  design.launch_text = launch_text(cursor);
  return design;
}

}  // namespace mgtune
