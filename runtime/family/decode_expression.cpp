// Reads what every part of an operator file may have: expressions, dtypes, names and paths.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "family/decode.h"

namespace mgtune {
namespace {

bool is_known(const Name& name, Known known) {
  switch (known) {
    case Known::binding:
      return name.stage == Stage::compile && name.slot >= kFirstOperatorSlot;
    case Known::problem:
      return name.slot >= kFirstOperatorSlot;
    case Known::compiling:
      return name.stage == Stage::compile;
    case Known::before_launch:
      break;
  }
  return true;
}

// The reason why the value of a name is not known at this stage.
std::string_view reason(const Name& name, Known known) {
  if (name.stage == Stage::launch) return "is known only at launch; this is fixed before compiling";
  if (known == Known::compiling) {
    return "is known only after loading; this is fixed before compiling";
  }
  return "belongs to a device; this is the same on every device";
}

}  // namespace

Status NameTable::claim(const JsonCursor& named, std::string_view kind) {
  const std::string& name = named.key();
  if (!is_identifier(name)) {
    return named.error(fmt::format("the name '{}' is not a C identifier", name));
  }
  const auto [taken, is_new] = taken_.emplace(name, kind);
  if (is_new) return {};
  return named.error(fmt::format("'{}' is already {}", name, taken->second));
}

Status check_known(const JsonCursor& cursor, const Expression& expression, const Scope& scope,
                   Known known) {
  for (const int slot : expression.slots()) {
    const Name& name = scope.names()[static_cast<std::size_t>(slot)];
    if (is_known(name, known)) continue;
    return cursor.error(fmt::format("'{}' {}", name.text, reason(name, known)));
  }
  return {};
}

Result<Expression> decode_expression(const JsonCursor& cursor, const ExpressionRule& rule) {
  const JsonValue& value = cursor.value();
  if (value.kind == JsonValue::Kind::integer && rule.type == ValueType::integer) {
    return Expression::integer(value.integer);
  }
  if (value.kind == JsonValue::Kind::boolean && rule.type == ValueType::boolean) {
    return Expression::boolean(value.boolean);
  }
  MGTUNE_ASSIGN(const std::string text, cursor.string());
  MGTUNE_ASSIGN(Expression parsed, cursor.located(Expression::parse(text, rule.scope, rule.type)));
  MGTUNE_TRY(check_known(cursor, parsed, rule.scope, rule.known));
  return parsed;
}

Status read_expressions(const JsonCursor& object, std::string_view key, const ExpressionRule& rule,
                        std::vector<Expression>& out, std::size_t min, std::size_t max) {
  const auto member = object.find(key);
  if (!member) return {};
  MGTUNE_ASSIGN(const std::vector<JsonCursor> elements, member->elements());
  if (elements.size() < min || elements.size() > max) {
    const std::string wanted = min == max ? std::to_string(min) : fmt::format("{} to {}", min, max);
    return member->error(fmt::format("expected {} entries, got {}", wanted, elements.size()));
  }
  for (const JsonCursor& element : elements) {
    MGTUNE_ASSIGN(Expression expression, decode_expression(element, rule));
    out.push_back(std::move(expression));
  }
  return {};
}

void collect_expressions(const JsonCursor& object, std::string_view key, const ExpressionRule& rule,
                         std::vector<Expression>& out, Mistakes& mistakes) {
  const auto member = object.find(key);
  if (!member) return;
  std::vector<JsonCursor> elements;
  mistakes.add(member->elements(), elements);
  for (const JsonCursor& element : elements) {
    Expression expression = Expression::integer(0);
    if (mistakes.add(decode_expression(element, rule), expression)) {
      out.push_back(std::move(expression));
    }
  }
}

Result<DTypeRef> decode_dtype(const JsonCursor& cursor, const Operator& op) {
  MGTUNE_ASSIGN(const std::string word, cursor.string());
  if (const auto dtype = dtype_from_string(word)) return DTypeRef{*dtype, -1};
  const auto variable = std::ranges::find(op.dtypes, word, &DTypeVariable::name);
  if (variable != op.dtypes.end()) return DTypeRef{DType::f32, variable->slot};
  std::vector<std::string> candidates;
  candidates.reserve(std::size(kDTypes) + op.dtypes.size());
  for (const DType known : kDTypes) candidates.emplace_back(to_string(known));
  for (const DTypeVariable& known : op.dtypes) candidates.push_back(known.name);
  return cursor.error(fmt::format("'{}' is neither a dtype nor a name of /dtypes{}", word,
                                  did_you_mean(word, candidates)));
}

std::vector<DType> possible_dtypes(const Tensor& tensor, const Operator& op) {
  if (tensor.dtype.slot < 0) return {tensor.dtype.fixed};
  return std::ranges::find(op.dtypes, tensor.dtype.slot, &DTypeVariable::slot)->values;
}

Result<int> find_tensor(const JsonCursor& cursor, const Operator& op, const std::string& name) {
  const auto tensor = std::ranges::find(op.tensors, name, &Tensor::name);
  if (tensor != op.tensors.end()) return static_cast<int>(tensor - op.tensors.begin());
  return cursor.error(
      fmt::format("'{}' is not a tensor{}", name, did_you_mean(name, op.tensors, &Tensor::name)));
}

Result<std::string> decode_source_path(const JsonCursor& cursor) {
  MGTUNE_ASSIGN(std::string path, cursor.string());
  if (!path.ends_with(".cu")) {
    return cursor.error(fmt::format("'{}' is not the name of a .cu file", path));
  }
  MGTUNE_TRY(check_inside_family(cursor, path));
  return path;
}

Status check_inside_family(const JsonCursor& cursor, std::string_view path) {
  std::string_view rest = path;
  while (true) {
    const std::string_view step = rest.substr(0, rest.find('/'));
    if (step.empty() || step == "." || step == ".." || step.find('\\') != std::string_view::npos) {
      return cursor.error(fmt::format("'{}' does not stay inside the family's folder", path));
    }
    if (step.size() == rest.size()) return {};
    rest.remove_prefix(step.size() + 1);
  }
}

Result<ArraySource> decode_array_source(const JsonCursor& cursor) {
  constexpr std::string_view kSafetensors = ".safetensors";
  const bool is_object = cursor.value().kind == JsonValue::Kind::object;
  if (is_object) MGTUNE_TRY(cursor.expect_keys({"file"}, {"tensor"}));
  const JsonCursor file = is_object ? cursor.at("file") : cursor;
  ArraySource source;
  MGTUNE_ASSIGN(source.path, file.string());
  if (!source.path.ends_with(".npy") && !source.path.ends_with(kSafetensors)) {
    return file.error(
        fmt::format("'{}' is not the name of a .npy or .safetensors file", source.path));
  }
  MGTUNE_TRY(check_inside_family(file, source.path));
  const auto tensor = is_object ? cursor.find("tensor") : std::nullopt;
  if (source.path.ends_with(kSafetensors) != tensor.has_value()) {
    return cursor.error(tensor ? "a .npy file has one array, so 'tensor' says nothing"
                               : "'tensor' has to say which tensor of the .safetensors file");
  }
  if (tensor) {
    MGTUNE_ASSIGN(source.array, tensor->string());
  }
  return source;
}

}  // namespace mgtune
