// decode_operator(): the top level of an operator file.

#include <fmt/format.h>

#include "family/decode.h"

namespace mgtune {
namespace {

// Keeps every count of points within 64 bits, whatever is added.
constexpr std::uint64_t kMaxPoints = 1ULL << 62U;

Status check_size(const JsonCursor& designs, const Operator& op) {
  std::uint64_t total = 0;
  for (const Design& design : op.designs) {
    std::uint64_t points = 1;
    bool overflow = false;
    for (const Parameter& parameter : design.params) {
      overflow = overflow || __builtin_mul_overflow(points, parameter.values.size(), &points);
    }
    if (overflow || __builtin_add_overflow(total, points, &total) || total > kMaxPoints) {
      return designs.error("the space has more than 2^62 points");
    }
  }
  return {};
}

Status decode_designs(const JsonCursor& designs, Operator& op, const NameTable& names) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, designs.members());
  bool has_default = false;
  for (const JsonCursor& member : members) {
    MGTUNE_ASSIGN(Design design, decode_design(member, op, names));
    has_default = has_default || !design.defaults.empty();
    op.designs.push_back(std::move(design));
  }
  if (!has_default) {
    return designs.error("no design has defaults: nothing would run before a sweep");
  }
  return check_size(designs, op);
}

Status decode_root(const JsonCursor& root, Operator& op) {
  MGTUNE_TRY(root.expect_keys({"format", "dims", "tensors", "cost", "check", "designs"},
                              {"dtypes", "flags", "scalars", "constraints", "problems"}));
  MGTUNE_ASSIGN(const std::int64_t format, root.at("format").integer());
  if (format != 1) {
    return root.at("format").error(fmt::format("format {}; this mgtune reads format 1", format));
  }
  NameTable names;
  MGTUNE_TRY(decode_names(root, op, names));
  MGTUNE_TRY(decode_tensors(root.at("tensors"), op));
  if (const auto constraints = root.find("constraints")) {
    MGTUNE_ASSIGN(op.constraints,
                  decode_expressions(*constraints, op.scope, ValueType::boolean, Known::problem));
  }
  MGTUNE_TRY(decode_cost(root.at("cost"), op));
  MGTUNE_TRY(decode_check(root.at("check"), op));
  MGTUNE_TRY(decode_designs(root.at("designs"), op, names));
  if (const auto problems = root.find("problems")) MGTUNE_TRY(decode_problems(*problems, op));
  return {};
}

}  // namespace

std::string Operator::place(const std::string& pointer) const {
  return fmt::format("{}: {}", text == nullptr ? file : text->file_of(pointer), pointer);
}

Result<Operator> decode_operator(const std::string& family, const std::string& name,
                                 std::shared_ptr<const SourceTree> sources) {
  Operator op;
  op.family = family;
  op.name = name;
  op.file = sources->folder + "/" + name + ".json";
  for (const std::string& word : {family, name}) {
    if (!is_identifier(word)) {
      return invalid_argument(fmt::format(
          "{}: '{}' has to be a C identifier: kernels are named after it", op.file, word));
    }
  }
  MGTUNE_ASSIGN(OperatorText text, read_operator_text(*sources, name));
  op.text = std::make_shared<const OperatorText>(std::move(text));
  MGTUNE_TRY(decode_root(JsonCursor(op.text->files, op.text->value), op));
  op.sources = std::move(sources);
  return op;
}

}  // namespace mgtune
