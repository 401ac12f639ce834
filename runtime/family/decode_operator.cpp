// decode_operator() reads the top level of an operator file, and how results are checked.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/variant_words.h"
#include "family/decode.h"

namespace mgtune {
namespace {

// Keeps every count of points within 64 bits. A design has at most 10^15.
constexpr std::uint64_t kMaxPoints = 1ULL << 62U;

Status decode_reference_files(const JsonCursor& files, Operator& op) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, files.members());
  for (const JsonCursor& member : members) {
    MGTUNE_ASSIGN(const int tensor, find_tensor(member, op, member.key()));
    if (op.tensors[static_cast<std::size_t>(tensor)].role == Role::in) {
      return member.error(fmt::format("'{}' is not an output", member.key()));
    }
    MGTUNE_ASSIGN(ArraySource source, decode_array_source(member));
    op.check.files.emplace(member.key(), std::move(source));
  }
  for (const Tensor& tensor : op.tensors) {
    if (tensor.role == Role::in || op.check.files.contains(tensor.name)) continue;
    return files.error(fmt::format("missing key '{}': each output needs a file", tensor.name));
  }
  return {};
}

Status decode_reference_command(const JsonCursor& cursor, Operator& op) {
  constexpr std::int64_t kMaxSeconds = 3600;
  MGTUNE_TRY(cursor.expect_keys({"command"}, {"seconds"}));
  MGTUNE_ASSIGN(const std::vector<JsonCursor> words, cursor.at("command").elements());
  if (words.empty()) return cursor.at("command").error("an empty list names no program");
  for (const JsonCursor& word : words) {
    MGTUNE_ASSIGN(op.check.command.emplace_back(), word.string());
  }
  if (op.check.command.front().empty()) return words.front().error("an empty name of a program");
  MGTUNE_TRY(cursor.read("seconds", op.check.command_seconds));
  if (op.check.command_seconds < 1 || op.check.command_seconds > kMaxSeconds) {
    return cursor.at("seconds").error(fmt::format("expected 1 to {} seconds", kMaxSeconds));
  }
  return {};
}

// The source is set because reference.cu may still have the kernels that fill tensors.
Status decode_reference_object(const JsonCursor& cursor, Operator& op) {
  op.check.source = "reference.cu";
  if (cursor.find("command")) return decode_reference_command(cursor, op);
  MGTUNE_TRY(cursor.expect_keys({"files"}));
  return decode_reference_files(cursor.at("files"), op);
}

Status decode_reference(const JsonCursor& cursor, Operator& op) {
  if (cursor.value().kind == JsonValue::Kind::object) return decode_reference_object(cursor, op);
  MGTUNE_ASSIGN(std::string word, cursor.string());
  if (is_identifier(word)) {
    op.check.source = "reference.cu";
    op.check.reference = std::move(word);
    return {};
  }
  MGTUNE_ASSIGN(op.check.source, decode_source_path(cursor));
  op.check.reference = op.family + "_" + op.name + "_reference";
  return {};
}

Status decode_bounds(const JsonCursor& cursor, std::map<DType, double>& bounds) {
  MGTUNE_ASSIGN(const std::vector<JsonCursor> members, cursor.members());
  for (const JsonCursor& member : members) {
    const auto dtype = dtype_from_string(member.key());
    if (!dtype) return member.error(fmt::format("'{}' is not a dtype", member.key()));
    MGTUNE_ASSIGN(const double bound, member.number());
    if (!(bound >= 0)) return member.error("expected a number that is not negative");
    bounds.emplace(*dtype, bound);
  }
  return {};
}

// An output without a tolerance could never be judged.
Status check_coverage(const JsonCursor& tolerance, const Operator& op) {
  for (const Tensor& tensor : op.tensors) {
    if (tensor.role == Role::in) continue;
    for (const DType dtype : possible_dtypes(tensor, op)) {
      if (op.check.tolerance.contains(dtype)) continue;
      return tolerance.error(
          fmt::format("missing key '{}', which '{}' may be", to_string(dtype), tensor.name));
    }
  }
  return {};
}

// The type of the outputs of a reference kernel. Results from files or a program have their own
// types.
Status decode_reference_type(const JsonCursor& cursor, Check& check) {
  const auto type = cursor.find("reference_type");
  if (!type) return {};
  MGTUNE_ASSIGN(check.reference_type, type->dtype());
  if (check.reference_type != DType::f64 && check.reference_type != DType::f32) {
    return type->error("a reference writes its outputs in f64 or f32");
  }
  if (check.reference.empty()) {
    return type->error("only a reference that is a kernel has a type");
  }
  return {};
}

// How results are judged.
Status decode_check(const JsonCursor& cursor, Operator& op) {
  MGTUNE_TRY(cursor.expect_keys({"reference", "measure"}, {"reference_type", "tolerance",
                                                           "baseline", "slack", "sample_rows"}));
  MGTUNE_TRY(decode_reference(cursor.at("reference"), op));
  Check& check = op.check;
  MGTUNE_TRY(decode_reference_type(cursor, check));
  MGTUNE_TRY(cursor.read_choice("measure", {"relative_l2", "twice_low_precision"}, check.measure));
  if (check.measure == Measure::relative_l2) {
    MGTUNE_TRY(cursor.expect_keys({"reference", "measure", "tolerance"},
                                  {"reference_type", "sample_rows"}));
    MGTUNE_TRY(decode_bounds(cursor.at("tolerance"), check.tolerance));
    MGTUNE_TRY(check_coverage(cursor.at("tolerance"), op));
  } else {
    if (check.reference.empty()) {
      return cursor.at("measure").error(
          "the baseline is a kernel that is compared with the reference, so the reference has to "
          "be "
          "a kernel too");
    }
    MGTUNE_TRY(cursor.expect_keys({"reference", "measure", "baseline"},
                                  {"reference_type", "slack", "sample_rows"}));
    MGTUNE_ASSIGN(check.baseline, cursor.at("baseline").identifier());
    if (const auto slack = cursor.find("slack")) MGTUNE_TRY(decode_bounds(*slack, check.slack));
  }
  if (const auto sample_rows = cursor.find("sample_rows")) {
    MGTUNE_TRY(sample_rows->read(check.sample_rows));
    if (check.sample_rows < 1) return sample_rows->error("expected a positive integer");
  }
  return {};
}

Status check_size(const JsonCursor& designs, const Operator& op) {
  std::uint64_t total = 0;
  for (const Design& design : op.designs) {
    std::uint64_t points = 1;
    for (const Parameter& parameter : design.params) points *= parameter.values.size();
    total += points;
    if (total > kMaxPoints) return designs.error("the space has more than 2^62 points");
  }
  return {};
}

// Gives ascending symbols to all floating numbers in the lists of parameters, the same symbols in
// all designs. So searches see these values as ordered.
void intern_numbers(const JsonCursor& designs, Scope& scope) {
  std::set<double> numbers;
  for (const JsonValue& design : designs.value().items) {
    const JsonValue* const params =
        design.kind == JsonValue::Kind::object ? design.find("params") : nullptr;
    if (params == nullptr) continue;
    for (const JsonValue& values : params->items) {
      const bool is_real = !values.items.empty() && values.items[0].kind == JsonValue::Kind::number;
      for (const JsonValue& value : values.items) {
        if (is_real) numbers.insert(value.number);
      }
    }
  }
  for (const double number : numbers) scope.intern(real_text(number));
}

void decode_designs(const JsonCursor& designs, Operator& op, const NameTable& names,
                    Mistakes& mistakes) {
  std::vector<JsonCursor> members;
  if (!mistakes.add(designs.members(), members)) return;
  const std::size_t before = mistakes.count();
  intern_numbers(designs, op.scope);
  bool has_default = false;
  for (const JsonCursor& member : members) {
    Design design = decode_design(member, op, names, mistakes);
    has_default = has_default || !design.defaults.empty();
    op.designs.push_back(std::move(design));
  }
  if (mistakes.count() > before) return;
  if (!has_default) {
    mistakes.add(designs.error("no design has defaults: nothing would run before a sweep"));
  }
  mistakes.add(check_size(designs, op));
}

Status decode_cost(const JsonCursor& cost, Operator& op) {
  const ExpressionRule rule{op.scope, ValueType::integer, Known::problem};
  MGTUNE_TRY(cost.expect_keys({"bytes", "flops"}));
  MGTUNE_TRY(read_expression(cost, "bytes", rule, op.bytes));
  return read_expression(cost, "flops", rule, op.flops);
}

// Makes the message clear if a tensor, a cost or another design uses a parameter.
void refuse_parameters(const JsonCursor& designs, Scope& scope) {
  for (const JsonValue& design : designs.value().items) {
    const JsonValue* const params =
        design.kind == JsonValue::Kind::object ? design.find("params") : nullptr;
    if (params == nullptr || params->kind != JsonValue::Kind::object) continue;
    for (const std::string& name : params->keys) {
      if (scope.find(name) != nullptr) continue;
      scope.refuse(name, fmt::format("'{}' is a parameter, which is known only in the designs that "
                                     "have it. A buffer whose size depends on a parameter is a "
                                     "workspace of the design, not a tensor",
                                     name));
    }
  }
}

Status decode_root(const JsonCursor& root, Operator& op) {
  MGTUNE_TRY(
      root.expect_keys({"format", "dims", "tensors", "cost", "check", "designs"},
                       {"dtypes", "flags", "scalars", "constraints", "metrics", "problems"}));
  MGTUNE_ASSIGN(const std::int64_t format, root.at("format").integer());
  if (format != 1) {
    return root.at("format").error(fmt::format("format {}; this mgtune reads format 1", format));
  }
  Mistakes mistakes;
  NameTable names;
  decode_names(root, op, names, mistakes);
  // If names are missing, every other part would report unknown names.
  MGTUNE_TRY(mistakes.status());
  refuse_parameters(root.at("designs"), op.scope);
  decode_tensors(root.at("tensors"), op, mistakes);
  const bool has_tensors = mistakes.count() == 0;
  collect_expressions(root, "constraints", {op.scope, ValueType::boolean, Known::problem},
                      op.constraints, mistakes);
  mistakes.add(decode_cost(root.at("cost"), op));
  if (has_tensors) mistakes.add(decode_check(root.at("check"), op));
  decode_designs(root.at("designs"), op, names, mistakes);
  if (const auto metrics = root.find("metrics")) decode_metrics(*metrics, op, mistakes);
  // To decode the problems, they are bound, which needs everything else.
  MGTUNE_TRY(mistakes.status());
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
