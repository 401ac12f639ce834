// Reads the names that expressions of an operator may use: dims, dtypes, flags, has(...), device.*,
// build.*. Scalars and tensors are names too, but they have no value in an expression.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "family/decode.h"

namespace mgtune {
namespace {

// In the order of DeviceSlot.
Status declare_device(const JsonCursor& root, Scope& scope) {
  const auto declare = [&](const char* name, Stage stage) {
    return root.located(scope.declare(name, ValueType::integer, stage)).status();
  };
  MGTUNE_TRY(declare("device.cc", Stage::compile));
  MGTUNE_TRY(declare("device.sm_count", Stage::compile));
  MGTUNE_TRY(declare("device.max_shared", Stage::compile));
  MGTUNE_TRY(declare("device.l2_bytes", Stage::compile));
  MGTUNE_TRY(declare("build.blocks_per_sm", Stage::load));
  return declare("build.max_clusters", Stage::load);
}

// The slot of a variable declared before this one.
Result<int> decode_default_dtype(const JsonCursor& cursor, const Operator& op) {
  MGTUNE_ASSIGN(const std::string name, cursor.string());
  const auto found = std::ranges::find(op.dtypes, name, &DTypeVariable::name);
  if (found != op.dtypes.end()) return found->slot;
  return cursor.error(fmt::format("'{}' is no dtype variable declared before this one", name));
}

// ["f16", "bf16"], or {"values": ["f32", "bf16"], "default": "T"}.
Status decode_dtype_variable(const JsonCursor& cursor, Operator& op, NameTable& names) {
  MGTUNE_TRY(names.claim(cursor, "a dtype variable"));
  DTypeVariable variable{cursor.key(), {}, 0, std::nullopt};
  std::optional<JsonCursor> values(cursor);
  if (cursor.value().kind == JsonValue::Kind::object) {
    MGTUNE_TRY(cursor.expect_keys({"values", "default"}, {}));
    values.emplace(cursor.at("values"));
    MGTUNE_ASSIGN(variable.default_slot, decode_default_dtype(cursor.at("default"), op));
  }
  std::vector<std::string> symbols;
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, values->elements());
  if (elements.empty()) return values->error("an empty list of dtypes");
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(const DType dtype, element.dtype());
    if (std::ranges::find(variable.values, dtype) != variable.values.end()) {
      return element.error(fmt::format("{} stands here twice", to_string(dtype)));
    }
    variable.values.push_back(dtype);
    symbols.emplace_back(to_string(dtype));
  }
  MGTUNE_ASSIGN(variable.slot, cursor.located(op.scope.declare(variable.name, ValueType::symbol,
                                                               Stage::compile, symbols)));
  op.dtypes.push_back(std::move(variable));
  return {};
}

Status decode_flag(const JsonCursor& cursor, Operator& op, NameTable& names) {
  MGTUNE_TRY(names.claim(cursor, "a flag"));
  MGTUNE_TRY(cursor.choice({"bool"}).status());
  MGTUNE_ASSIGN(const int slot,
                cursor.located(op.scope.declare(cursor.key(), ValueType::boolean, Stage::compile)));
  op.flags.push_back({cursor.key(), slot});
  return {};
}

// A tensor has no value in expressions. An optional one has has(NAME), which says whether it is
// there.
Status decode_tensor_name(const JsonCursor& cursor, Operator& op, NameTable& names) {
  MGTUNE_TRY(names.claim(cursor, "a tensor"));
  const std::string& name = cursor.key();
  op.scope.refuse(name, fmt::format("'{}' is a tensor; an expression can only ask has({}) of an "
                                    "optional one",
                                    name, name));
  const JsonValue* optional = cursor.value().find("optional");
  if (optional != nullptr && optional->boolean) {
    const std::string presence = "has(" + name + ")";
    MGTUNE_TRY(
        cursor.located(op.scope.declare(presence, ValueType::boolean, Stage::compile)).status());
  } else {
    op.scope.refuse("has(" + name + ")",
                    fmt::format("'{}' is not optional, so has({}) says nothing", name, name));
  }
  return {};
}

// "f32", or {"dtype": "f32", "check": 1e-5}.
Status decode_scalar(const JsonCursor& cursor, Operator& op, NameTable& names) {
  MGTUNE_TRY(names.claim(cursor, "a scalar"));
  Scalar scalar{cursor.key(), DType::f32};
  if (cursor.value().kind == JsonValue::Kind::object) {
    MGTUNE_TRY(cursor.expect_keys({"dtype"}, {"check"}));
    MGTUNE_ASSIGN(scalar.dtype, cursor.at("dtype").dtype());
    if (const auto check = cursor.find("check")) {
      MGTUNE_ASSIGN(scalar.check_value, check->number());
    }
  } else {
    MGTUNE_ASSIGN(scalar.dtype, cursor.dtype());
  }
  op.scope.refuse(scalar.name,
                  fmt::format("'{}' is a scalar; only the kernel knows its value", scalar.name));
  op.scalars.push_back(std::move(scalar));
  return {};
}

Status decode_dim(const JsonCursor& cursor, Operator& op) {
  Dim dim{cursor.key(), DimKind::fixed, std::nullopt, 0};
  const bool is_object = cursor.value().kind == JsonValue::Kind::object;
  if (is_object) MGTUNE_TRY(cursor.expect_keys({"kind"}, {"default"}));
  const JsonCursor kind = is_object ? cursor.at("kind") : cursor;
  MGTUNE_TRY(kind.read_choice({"static", "dynamic", "hint"}, dim.kind));
  const Known known = dim.kind == DimKind::fixed ? Known::binding : Known::problem;
  if (is_object) {
    MGTUNE_TRY(
        read_expression(cursor, "default", {op.scope, ValueType::integer, known}, dim.fallback));
  }
  const Stage stage = dim.kind == DimKind::fixed ? Stage::compile : Stage::launch;
  MGTUNE_ASSIGN(dim.slot, cursor.located(op.scope.declare(dim.name, ValueType::integer, stage)));
  op.dims.push_back(std::move(dim));
  return {};
}

// Dims come last, so that their defaults may name everything else, and dims before them.
void decode_dims(const JsonCursor& dims, Operator& op, NameTable& names, Mistakes& mistakes) {
  std::vector<JsonCursor> members;
  mistakes.add(dims.members(), members);
  for (const JsonCursor& member : members) {
    if (!mistakes.add(names.claim(member, "a dim"))) return;
    op.scope.refuse(member.key(),
                    fmt::format("the dim '{}' is declared further down", member.key()));
  }
  for (const JsonCursor& member : members) {
    if (mistakes.add(decode_dim(member, op))) continue;
    // Declares it all the same, so that defaults of later dims may name it. A failure means that it
    // is declared already.
    static_cast<void>(op.scope.declare(member.key(), ValueType::integer, Stage::compile));
  }
}

}  // namespace

void decode_names(const JsonCursor& root, Operator& op, NameTable& names, Mistakes& mistakes) {
  using Decode = Status (*)(const JsonCursor&, Operator&, NameTable&);
  const std::array<std::pair<const char*, Decode>, 4> sections = {
      {{"dtypes", decode_dtype_variable},
       {"flags", decode_flag},
       {"scalars", decode_scalar},
       {"tensors", decode_tensor_name}}};
  mistakes.add(declare_device(root, op.scope));
  for (const auto& [key, decode] : sections) {
    const auto section = root.find(key);
    if (!section) continue;
    std::vector<JsonCursor> members;
    mistakes.add(section->members(), members);
    for (const JsonCursor& member : members) mistakes.add(decode(member, op, names));
  }
  decode_dims(root.at("dims"), op, names, mistakes);
}

}  // namespace mgtune
