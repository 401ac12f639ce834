// Reads the tensors of an operator, and how the check fills them.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "family/decode.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxRank = 8;
constexpr std::int64_t kMaxAlign = 256;  // what every allocator of device memory gives

// "uniform(-1, 1)"; false when `word` is not of this form.
bool read_uniform(std::string_view word, Fill& fill) {
  constexpr std::string_view kPrefix = "uniform(";
  if (!word.starts_with(kPrefix) || !word.ends_with(')')) return false;
  word.remove_prefix(kPrefix.size());
  word.remove_suffix(1);
  const auto read = [&word](double& value) {
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
    if (result.ec != std::errc() || !std::isfinite(value)) return false;
    word.remove_prefix(static_cast<std::size_t>(result.ptr - word.data()));
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    return true;
  };
  if (!read(fill.low) || !word.starts_with(',')) return false;
  word.remove_prefix(1);
  return read(fill.high) && word.empty() && fill.low < fill.high;
}

Result<Fill> decode_fill_object(const JsonCursor& cursor) {
  Fill fill;
  if (cursor.find("kernel")) {
    MGTUNE_TRY(cursor.expect_keys({"kernel"}));
    fill.kind = Fill::Kind::kernel;
    MGTUNE_ASSIGN(fill.kernel, cursor.at("kernel").identifier());
    return fill;
  }
  if (cursor.find("file")) {
    fill.kind = Fill::Kind::file;
    MGTUNE_ASSIGN(fill.file, decode_array_source(cursor));
    return fill;
  }
  MGTUNE_TRY(cursor.expect_keys({"op", "output"}));
  fill.kind = Fill::Kind::output;
  MGTUNE_ASSIGN(fill.source_operator, cursor.at("op").string());
  const std::string_view name = fill.source_operator;
  const std::size_t dot = std::min(name.find('.'), name.size() - 1);
  if (!is_identifier(name.substr(0, dot)) || !is_identifier(name.substr(dot + 1))) {
    return cursor.at("op").error(fmt::format("'{}' is not of the form family.operator", name));
  }
  MGTUNE_ASSIGN(fill.source_output, cursor.at("output").identifier());
  return fill;
}

Result<Fill> decode_fill(const JsonCursor& cursor, const Tensor& tensor, const Operator& op) {
  if (cursor.value().kind == JsonValue::Kind::object) return decode_fill_object(cursor);
  MGTUNE_ASSIGN(const std::string word, cursor.string());
  Fill fill;
  if (word == "normal") {
    fill.kind = Fill::Kind::normal;
  } else if (word == "normal_poisoned_tail") {
    fill.kind = Fill::Kind::normal_poisoned_tail;
  } else if (read_uniform(word, fill)) {
    fill.kind = Fill::Kind::uniform;
    return fill;
  } else {
    return cursor.error(
        fmt::format("expected normal, normal_poisoned_tail, uniform(low, high), "
                    "{{\"kernel\": ...}}, {{\"file\": ...}} or {{\"op\": ..., \"output\": ...}}, "
                    "got \"{}\"",
                    word));
  }
  if (!std::ranges::all_of(possible_dtypes(tensor, op), is_floating)) {
    return cursor.error("a normal fill needs a floating-point dtype; integers take uniform(a, b)");
  }
  return fill;
}

Status decode_layout(const JsonCursor& cursor, Tensor& tensor, const Operator& op) {
  const ExpressionRule rule{op.scope, ValueType::integer, Known::problem};
  MGTUNE_TRY(read_expressions(cursor, "shape", rule, tensor.shape, 1, kMaxRank));
  const std::size_t rank = tensor.shape.size();
  MGTUNE_TRY(read_expressions(cursor, "strides", rule, tensor.strides, rank, rank));
  if (const auto align = cursor.find("align")) {
    MGTUNE_TRY(align->read(tensor.align));
    const bool power_of_two = tensor.align > 0 && (tensor.align & (tensor.align - 1)) == 0;
    if (!power_of_two || tensor.align > kMaxAlign) {
      return align->error(
          fmt::format("expected a power of two up to {}, got {}", kMaxAlign, tensor.align));
    }
  }
  return {};
}

Status decode_tensor(const JsonCursor& cursor, const Operator& op, Tensor& tensor) {
  MGTUNE_TRY(cursor.expect_keys({"role", "dtype", "shape"},
                                {"strides", "align", "optional", "when", "fill"}));
  MGTUNE_TRY(cursor.read_choice("role", {"in", "out", "inout"}, tensor.role));
  MGTUNE_ASSIGN(tensor.dtype, decode_dtype(cursor.at("dtype"), op));
  MGTUNE_TRY(decode_layout(cursor, tensor, op));
  MGTUNE_TRY(cursor.read("optional", tensor.optional));
  if (tensor.optional) tensor.has_slot = op.scope.find("has(" + tensor.name + ")")->slot;
  MGTUNE_TRY(
      read_expression(cursor, "when", {op.scope, ValueType::boolean, Known::binding}, tensor.when));
  const auto fill = cursor.find("fill");
  if (tensor.role == Role::out && fill) {
    return fill->error("an output takes no fill: the check poisons it");
  }
  if (tensor.role != Role::out && !fill) return cursor.error("missing key 'fill'");
  if (fill) {
    MGTUNE_ASSIGN(tensor.fill, decode_fill(*fill, tensor, op));
  }
  return {};
}

}  // namespace

void decode_tensors(const JsonCursor& tensors, Operator& op, Mistakes& mistakes) {
  std::vector<JsonCursor> members;
  bool all_read = mistakes.add(tensors.members(), members);
  bool writes = false;
  for (const JsonCursor& member : members) {
    Tensor tensor;
    tensor.name = member.key();
    all_read = mistakes.add(decode_tensor(member, op, tensor)) && all_read;
    writes = writes || tensor.role != Role::in;
    op.tensors.push_back(std::move(tensor));
  }
  if (all_read && !writes) mistakes.add(tensors.error("no tensor has the role out or inout"));
}

}  // namespace mgtune
