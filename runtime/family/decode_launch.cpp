// Reads a launch: the kernel's instantiation, its geometry, tensor maps and arguments.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/text.h"
#include "core/variant_words.h"
#include "family/decode.h"

namespace mgtune {
namespace {

Result<TensorMap> decode_tensor_map(const JsonCursor& cursor, const Operator& op,
                                    const Design& design) {
  MGTUNE_TRY(cursor.expect_keys({"tensor", "extent", "stride", "box"}, {"swizzle", "l2"}));
  TensorMap map;
  map.name = cursor.key();
  MGTUNE_ASSIGN(const std::string tensor, cursor.at("tensor").string());
  MGTUNE_ASSIGN(map.tensor, find_tensor(cursor.at("tensor"), op, tensor));
  // A stride for each dim except the first, whose stride is 1.
  const ExpressionRule rule{design.scope, ValueType::integer, Known::before_launch};
  MGTUNE_TRY(read_expressions(cursor, "extent", rule, map.extent, 1, 5));
  const std::size_t rank = map.extent.size();
  MGTUNE_TRY(read_expressions(cursor, "stride", rule, map.stride, rank - 1, rank - 1));
  MGTUNE_TRY(read_expressions(cursor, "box", rule, map.box, rank, rank));
  MGTUNE_TRY(cursor.read_choice("swizzle", {"none", "32B", "64B", "128B"}, map.swizzle));
  MGTUNE_TRY(cursor.read_choice("l2", {"none", "64B", "128B", "256B"}, map.l2));
  return map;
}

using NamedArgument = std::pair<std::string, Argument>;

// The arguments that are written as a name: "x" for a tensor, workspace, tensor map or scalar.
std::vector<NamedArgument> named_arguments(const Operator& op, const Design& design,
                                           const Launch& launch) {
  std::vector<NamedArgument> all;
  const auto add = [&all](Argument::Kind kind, const auto& things) {
    for (int i = 0; i < std::ssize(things); ++i) {
      all.push_back({things[std::size_t(i)].name, {kind, i, DType::i64, std::nullopt}});
    }
  };
  add(Argument::Kind::tensor, op.tensors);
  add(Argument::Kind::workspace, design.workspace);
  add(Argument::Kind::tensor_map, launch.tensor_maps);
  add(Argument::Kind::scalar, op.scalars);
  return all;
}

// "rows:i64". The text after the last colon is the C type.
Result<Argument> decode_argument(const JsonCursor& cursor, const Operator& op, const Design& design,
                                 const Launch& launch) {
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  const std::vector<NamedArgument> named = named_arguments(op, design, launch);
  const auto found = std::ranges::find(named, text, &NamedArgument::first);
  if (found != named.end()) {
    Argument argument = found->second;
    const auto index = static_cast<std::size_t>(argument.index);
    if (argument.kind == Argument::Kind::scalar) argument.dtype = op.scalars[index].dtype;
    return argument;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    if (!is_identifier(text) || design.scope.find(text) != nullptr) {
      return cursor.error(
          fmt::format("'{}' has no C type; write \"{}:i64\" (or i32, u32, f32, ...)", text, text));
    }
    return cursor.error(
        fmt::format("'{}' is not a tensor, workspace, tensor map or scalar (a value is written "
                    "\"expression:i64\"){}",
                    text, did_you_mean(text, named, &NamedArgument::first)));
  }
  const std::string type = text.substr(colon + 1);
  const auto dtype = dtype_from_string(type);
  if (!dtype || *dtype == DType::f16 || *dtype == DType::bf16) {
    return cursor.error(fmt::format(
        "'{}' is not a C type of an argument; it can be i8 u8 i32 u32 i64 u64 f32 f64", type));
  }
  MGTUNE_ASSIGN(Expression value,
                cursor.located(Expression::parse(text.substr(0, colon), design.scope)));
  if (value.type() == ValueType::symbol) {
    return cursor.error("an argument is an integer or a boolean, not an identifier");
  }
  return Argument{Argument::Kind::value, -1, *dtype, std::move(value)};
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

// A value of the argument that is neither an identifier nor a number; null if it has none.
const std::string* string_value(const Expression& argument, const Design& design) {
  for (const int slot : argument.slots()) {
    for (const std::int64_t symbol : design.scope.names()[static_cast<std::size_t>(slot)].symbols) {
      const std::string& text = design.scope.symbol_text(symbol);
      if (argument.type() == ValueType::symbol && !is_identifier(text) && !is_real_text(text)) {
        return &text;
      }
    }
  }
  return nullptr;
}

// "const float*, int" of "add(const float*, int)", which chooses one of several overloads. It is
// pasted into a C++ expression, so it must not end the expression.
Result<std::string> decode_parameters_of(const JsonCursor& cursor, const std::string& text,
                                         std::size_t open) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:*&, ";
  if (!text.ends_with(')')) return cursor.error(fmt::format("'{}' does not end with ')'", text));
  std::string parameters = text.substr(open + 1, text.size() - open - 2);
  if (parameters.find_first_not_of(' ') == std::string::npos) return std::string("void");
  const std::size_t wrong = parameters.find_first_not_of(kAllowed);
  if (wrong == std::string::npos) return parameters;
  return cursor.error(fmt::format(
      "'{}' cannot stand in the types of a kernel's parameters, such as \"(const float*, int)\"",
      parameters.substr(wrong, 1)));
}

Result<KernelTemplate> decode_kernel(const JsonCursor& cursor, const Design& design) {
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  const std::size_t open = std::min(text.find_first_of("<("), text.size());
  KernelTemplate kernel{text.substr(0, open), {}, {}};
  if (!is_identifier(kernel.name)) {
    return cursor.error(
        fmt::format("'{}' does not start with a C identifier, the kernel's name", text));
  }
  if (open == text.size()) return kernel;
  if (text[open] == '(') {
    MGTUNE_ASSIGN(kernel.parameters, decode_parameters_of(cursor, text, open));
    return kernel;
  }
  if (!text.ends_with('>')) return cursor.error(fmt::format("'{}' does not end with '>'", text));
  for (const std::string& part :
       split_arguments(std::string_view(text).substr(open + 1, text.size() - open - 2))) {
    const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    const std::string argument = part.substr(first, part.find_last_not_of(' ') + 1 - first);
    MGTUNE_ASSIGN(Expression value, cursor.located(Expression::parse(argument, design.scope)));
    MGTUNE_TRY(check_known(cursor, value, design.scope, Known::compiling));
    if (const std::string* word = string_value(value, design)) {
      return cursor.error(fmt::format(
          "'{}' can be '{}', which cannot be a template argument; pass it through \"defines\"",
          argument, *word));
    }
    if (value.type() == ValueType::symbol && !names_its_symbol(value, design)) {
      return cursor.error(fmt::format(
          "'{}': an identifier is passed to a kernel as its parameter alone", argument));
    }
    kernel.arguments.push_back(std::move(value));
  }
  return kernel;
}

}  // namespace

Launch decode_launch(const JsonCursor& cursor, const Operator& op, const Design& design,
                     NameTable names, Mistakes& mistakes) {
  Launch launch;
  if (!mistakes.add(
          cursor.expect_keys({"kernel", "grid", "block", "args"},
                             {"when", "cluster", "shared", "cooperative", "pdl", "tensor_maps"}))) {
    return launch;
  }
  const ExpressionRule condition{design.scope, ValueType::boolean, Known::before_launch};
  const ExpressionRule number{design.scope, ValueType::integer, Known::before_launch};
  const ExpressionRule compiled{design.scope, ValueType::integer, Known::compiling};
  mistakes.add(read_expression(cursor, "when", condition, launch.when));
  mistakes.add(read_expression(cursor, "cooperative", condition, launch.cooperative));
  mistakes.add(read_expression(cursor, "pdl", condition, launch.pdl));
  mistakes.add(decode_kernel(cursor.at("kernel"), design), launch.kernel);
  mistakes.add(read_expressions(cursor, "grid", number, launch.grid, 1, 3));
  mistakes.add(read_expressions(cursor, "block", compiled, launch.block, 1, 3));
  mistakes.add(read_expressions(cursor, "cluster", compiled, launch.cluster, 1, 3));
  mistakes.add(read_expression(cursor, "shared", number, launch.shared));
  if (const auto maps = cursor.find("tensor_maps")) {
    std::vector<JsonCursor> members;
    mistakes.add(maps->members(), members);
    for (const JsonCursor& member : members) {
      TensorMap map;
      map.name = member.key();
      if (mistakes.add(names.claim(member, "a tensor map"))) {
        mistakes.add(decode_tensor_map(member, op, design), map);
      }
      launch.tensor_maps.push_back(std::move(map));
    }
  }
  std::vector<JsonCursor> args;
  mistakes.add(cursor.at("args").elements(), args);
  if (args.size() > kMaxArguments) {
    mistakes.add(cursor.at("args").error(
        fmt::format("a kernel can have at most {} arguments, and here are {}; put values together "
                    "in a tensor or in a workspace",
                    kMaxArguments, args.size())));
    return launch;
  }
  for (const JsonCursor& arg : args) {
    Argument argument{};
    mistakes.add(decode_argument(arg, op, design, launch), argument);
    launch.args.push_back(std::move(argument));
  }
  return launch;
}

}  // namespace mgtune
