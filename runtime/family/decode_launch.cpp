// A launch: the kernel's instantiation, its geometry, tensor maps and arguments.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/suggest.h"
#include "family/decode.h"

namespace mgtune {
namespace {

template <typename Named>
std::optional<int> index_of(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  if (found == all.end()) return std::nullopt;
  return static_cast<int>(found - all.begin());
}

template <typename Named>
void append_names(const std::vector<Named>& all, std::vector<std::string>& names) {
  for (const Named& named : all) names.push_back(named.name);
}

// A tensor map has these for each dim except the first, whose stride is 1.
Status decode_map_geometry(const JsonCursor& cursor, const Design& design, TensorMap& map) {
  const auto read = [&](const char* key, std::size_t fewest, std::size_t most) {
    return decode_expressions(cursor.at(key), design.scope, ValueType::integer,
                              Known::before_launch, fewest, most);
  };
  MGTUNE_ASSIGN(map.extent, read("extent", 1, 5));
  const std::size_t rank = map.extent.size();
  MGTUNE_ASSIGN(map.stride, read("stride", rank - 1, rank - 1));
  MGTUNE_ASSIGN(map.box, read("box", rank, rank));
  return {};
}

Result<TensorMap> decode_tensor_map(const JsonCursor& cursor, const Operator& op,
                                    const Design& design) {
  MGTUNE_TRY(cursor.expect_keys({"tensor", "extent", "stride", "box"}, {"swizzle", "l2"}));
  TensorMap map;
  map.name = cursor.key();
  MGTUNE_ASSIGN(const std::string tensor, cursor.at("tensor").string());
  const auto index = index_of(op.tensors, tensor);
  if (!index) {
    std::vector<std::string> tensors;
    append_names(op.tensors, tensors);
    return cursor.at("tensor").error(
        fmt::format("'{}' is not a tensor{}", tensor, did_you_mean(tensor, tensors)));
  }
  map.tensor = *index;
  MGTUNE_TRY(decode_map_geometry(cursor, design, map));
  if (const auto swizzle = cursor.find("swizzle")) {
    MGTUNE_ASSIGN(const std::size_t choice, swizzle->choice({"none", "32B", "64B", "128B"}));
    map.swizzle = static_cast<TensorMap::Swizzle>(choice);
  }
  if (const auto l2 = cursor.find("l2")) {
    MGTUNE_ASSIGN(const std::size_t choice, l2->choice({"none", "64B", "128B", "256B"}));
    map.l2 = static_cast<TensorMap::L2>(choice);
  }
  return map;
}

// "x": a tensor, workspace, tensor map or scalar by its name.
std::optional<Argument> named_argument(std::string_view name, const Operator& op,
                                       const Design& design, const Launch& launch) {
  Argument argument;
  if (const auto tensor = index_of(op.tensors, name)) {
    argument.kind = Argument::Kind::tensor;
    argument.index = *tensor;
  } else if (const auto workspace = index_of(design.workspace, name)) {
    argument.kind = Argument::Kind::workspace;
    argument.index = *workspace;
  } else if (const auto map = index_of(launch.tensor_maps, name)) {
    argument.kind = Argument::Kind::tensor_map;
    argument.index = *map;
  } else if (const auto scalar = index_of(op.scalars, name)) {
    argument.kind = Argument::Kind::scalar;
    argument.index = *scalar;
    argument.dtype = op.scalars[static_cast<std::size_t>(*scalar)].dtype;
  } else {
    return std::nullopt;
  }
  return argument;
}

Status unknown_argument(const JsonCursor& cursor, const std::string& text, const Operator& op,
                        const Design& design, const Launch& launch) {
  if (!is_identifier(text) || design.scope.find(text) != nullptr) {
    return cursor.error(
        fmt::format("'{}' has no C type; write \"{}:i64\" (or i32, u32, f32, ...)", text, text));
  }
  std::vector<std::string> names;
  append_names(op.tensors, names);
  append_names(design.workspace, names);
  append_names(launch.tensor_maps, names);
  append_names(op.scalars, names);
  return cursor.error(
      fmt::format("'{}' is not a tensor, workspace, tensor map or scalar (a value is written "
                  "\"expression:i64\"){}",
                  text, did_you_mean(text, names)));
}

// "rows:i64". The text after the last colon is the C type.
Result<Argument> decode_argument(const JsonCursor& cursor, const Operator& op, const Design& design,
                                 const Launch& launch) {
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  if (auto argument = named_argument(text, op, design, launch)) return *std::move(argument);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return unknown_argument(cursor, text, op, design, launch);
  const std::string type = text.substr(colon + 1);
  const auto dtype = dtype_from_string(type);
  if (!dtype || *dtype == DType::f16 || *dtype == DType::bf16) {
    return cursor.error(fmt::format(
        "'{}' is not a C type of an argument; it can be i8 u8 i32 u32 i64 u64 f32 f64", type));
  }
  Result<Expression> value = Expression::parse(text.substr(0, colon), design.scope);
  if (!value.ok()) return cursor.error(value.status().message());
  if (value->type() == ValueType::symbol) {
    return cursor.error("an argument is an integer or a boolean, not an identifier");
  }
  Argument argument;
  argument.kind = Argument::Kind::value;
  argument.dtype = *dtype;
  argument.value = std::move(value).value();
  return argument;
}

Status decode_geometry(const JsonCursor& cursor, const Scope& scope, Launch& launch) {
  constexpr ValueType kInteger = ValueType::integer;
  MGTUNE_ASSIGN(launch.grid,
                decode_expressions(cursor.at("grid"), scope, kInteger, Known::before_launch, 1, 3));
  MGTUNE_ASSIGN(launch.block,
                decode_expressions(cursor.at("block"), scope, kInteger, Known::compiling, 1, 3));
  if (const auto cluster = cursor.find("cluster")) {
    MGTUNE_ASSIGN(launch.cluster,
                  decode_expressions(*cluster, scope, kInteger, Known::compiling, 1, 3));
  }
  if (const auto shared = cursor.find("shared")) {
    MGTUNE_ASSIGN(launch.shared, decode_expression(*shared, scope, kInteger, Known::before_launch));
  }
  return {};
}

Status decode_modes(const JsonCursor& cursor, const Scope& scope, Launch& launch) {
  if (const auto when = cursor.find("when")) {
    MGTUNE_ASSIGN(launch.when,
                  decode_expression(*when, scope, ValueType::boolean, Known::before_launch));
  }
  if (const auto cooperative = cursor.find("cooperative")) {
    MGTUNE_ASSIGN(launch.cooperative,
                  decode_expression(*cooperative, scope, ValueType::boolean, Known::before_launch));
  }
  if (const auto pdl = cursor.find("pdl")) {
    MGTUNE_ASSIGN(launch.pdl,
                  decode_expression(*pdl, scope, ValueType::boolean, Known::before_launch));
  }
  return {};
}

// The parts between commas that are not inside parentheses.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts(1);
  int open = 0;
  for (const char c : text) {
    open += c == '(' ? 1 : (c == ')' ? -1 : 0);
    if (c == ',' && open <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// An identifier of a parameter is written "LOAD::cp_async" in C++, so the name of the parameter is
// needed.
bool names_its_symbol(const Expression& argument, const Design& design) {
  if (argument.slots().size() != 1) return false;
  const Name& name = design.scope.names()[static_cast<std::size_t>(argument.slots()[0])];
  return argument.text() == name.text || std::ranges::all_of(name.symbols, is_dtype);
}

}  // namespace

Result<KernelTemplate> decode_kernel(const JsonCursor& cursor, const Design& design) {
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  const std::size_t open = std::min(text.find('<'), text.size());
  KernelTemplate kernel{text.substr(0, open), {}};
  if (!is_identifier(kernel.name)) {
    return cursor.error(
        fmt::format("'{}' does not start with a C identifier, the kernel's name", text));
  }
  if (open == text.size()) return kernel;
  if (!text.ends_with('>')) return cursor.error(fmt::format("'{}' does not end with '>'", text));
  for (const std::string& part :
       split_arguments(std::string_view(text).substr(open + 1, text.size() - open - 2))) {
    const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    const std::string argument = part.substr(first, part.find_last_not_of(' ') + 1 - first);
    Result<Expression> value = Expression::parse(argument, design.scope);
    if (!value.ok()) return cursor.error(value.status().message());
    MGTUNE_TRY(check_known(cursor, *value, design.scope, Known::compiling));
    if (value->type() == ValueType::symbol && !names_its_symbol(*value, design)) {
      return cursor.error(fmt::format(
          "'{}': an identifier is passed to a kernel as its parameter alone", argument));
    }
    kernel.arguments.push_back(std::move(value).value());
  }
  return kernel;
}

Result<Launch> decode_launch(const JsonCursor& cursor, const Operator& op, const Design& design,
                             NameTable names) {
  MGTUNE_TRY(
      cursor.expect_keys({"kernel", "grid", "block", "args"},
                         {"when", "cluster", "shared", "cooperative", "pdl", "tensor_maps"}));
  Launch launch;
  MGTUNE_TRY(decode_modes(cursor, design.scope, launch));
  MGTUNE_ASSIGN(launch.kernel, decode_kernel(cursor.at("kernel"), design));
  MGTUNE_TRY(decode_geometry(cursor, design.scope, launch));
  if (const auto maps = cursor.find("tensor_maps")) {
    MGTUNE_ASSIGN(const std::vector<JsonCursor> members, maps->members());
    for (const JsonCursor& member : members) {
      MGTUNE_TRY(names.claim(member, "a tensor map"));
      MGTUNE_ASSIGN(TensorMap map, decode_tensor_map(member, op, design));
      launch.tensor_maps.push_back(std::move(map));
    }
  }
  MGTUNE_ASSIGN(const std::vector<JsonCursor> args, cursor.at("args").elements());
  for (const JsonCursor& arg : args) {
    MGTUNE_ASSIGN(Argument argument, decode_argument(arg, op, design, launch));
    launch.args.push_back(std::move(argument));
  }
  return launch;
}

}  // namespace mgtune
