#include "header/typed_operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/text.h"
#include "header_text/header_text.h"

namespace mgtune {
namespace {

using Words = std::vector<std::string>;

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "mgr_f16_t";
    case DType::bf16:
      return "mgr_bf16_t";
    case DType::i64:
      return "int64_t";
    case DType::u64:
      return "uint64_t";
    case DType::i32:
      return "int32_t";
    case DType::u32:
      return "uint32_t";
    case DType::i8:
      return "int8_t";
    case DType::u8:
      break;
  }
  return "uint8_t";
}

std::string capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A name of the operator as a name in C and C++. Keywords, and names that the generated functions
// use themselves, get a "_".
std::string c_name(const std::string& name) {
  static const std::set<std::string, std::less<>> kTaken = {
      "alignas",   "and",      "auto",      "bool",     "break",    "case",     "catch",
      "char",      "class",    "const",     "continue", "default",  "delete",   "do",
      "double",    "else",     "enum",      "explicit", "export",   "extern",   "false",
      "float",     "for",      "friend",    "goto",     "if",       "inline",   "int",
      "long",      "mutable",  "namespace", "new",      "not",      "operator", "or",
      "private",   "public",   "register",  "restrict", "return",   "short",    "signed",
      "sizeof",    "static",   "struct",    "switch",   "template", "this",     "throw",
      "true",      "try",      "typedef",   "union",    "unsigned", "using",    "virtual",
      "void",      "volatile", "while",     "xor",      "plan",     "stream",   "dims",
      "workspace", "context",  "options",   "tensors",  "scalars",  "smallest", "largest",
      "made",      "all",      "needed",    "values",   "pointers", "numbers"};
  return kTaken.contains(name) ? name + "_" : name;
}

// One dtype for each variable of the operator.
using Combination = std::vector<DType>;

std::vector<Combination> combinations(const Operator& op) {
  std::vector<Combination> all = {{}};
  for (const DTypeVariable& variable : op.dtypes) {
    std::vector<Combination> longer;
    for (const Combination& combination : all) {
      for (const DType dtype : variable.values) {
        longer.push_back(combination);
        longer.back().push_back(dtype);
      }
    }
    all = std::move(longer);
  }
  return all;
}

class OperatorWriter {
 public:
  explicit OperatorWriter(const Operator& op) : op_(op), name_(op.family + "_" + op.name) {}

  Result<TypedOperator> write() {
    MGTUNE_TRY(check_names());
    TypedOperator typed;
    typed.c =
        fmt::format("\n/* ---- {} ---- */\n", op_.full_name()) + dims_struct() + options_struct();
    for (const Combination& combination : combinations(op_)) {
      typed.c += plan_type(combination) + plan_function(combination) + launch_function(combination);
      typed.cpp += span_function(combination);
    }
    return typed;
  }

 private:
  Status check_names() const {
    std::set<std::string> names = {"plan", "stream", "dims", "workspace"};
    const auto clash = [&](const std::string& name) { return !names.insert(c_name(name)).second; };
    bool bad = false;
    for (const Tensor& tensor : op_.tensors) bad = clash(tensor.name) || bad;
    for (const Scalar& scalar : op_.scalars) bad = clash(scalar.name) || bad;
    if (!bad) return {};
    return invalid_argument(op_.file + ": two tensors or scalars would have one name in C");
  }

  bool has_dims() const {
    return std::ranges::any_of(op_.dims, [](const Dim& dim) { return dim.kind != DimKind::fixed; });
  }

  // "_f32_bf16"; "" for an operator without dtype variables.
  std::string prefix(const Combination& combination) const {
    std::string text = name_;
    for (const DType dtype : combination) text += "_" + std::string(to_string(dtype));
    return text;
  }

  DType dtype_of(const Tensor& tensor, const Combination& combination) const {
    for (std::size_t i = 0; i < op_.dtypes.size(); ++i) {
      if (op_.dtypes[i].slot == tensor.dtype.slot) return combination[i];
    }
    return tensor.dtype.fixed;
  }

  static std::string member(const std::string& type, const std::string& name, const char* initial,
                            const std::string& comment) {
    return fmt::format("  {} {} MGR_DEFAULT({});{}\n", type, c_name(name), initial,
                       comment.empty() ? "" : " /* " + comment + " */");
  }

  static std::string dim_member(const Dim& dim) {
    std::string comment = dim.kind == DimKind::hint ? "a bound of lengths in device memory" : "";
    if (dim.fallback) comment += (comment.empty() ? "" : "; ") + ("-1: " + dim.fallback->text());
    return member("int64_t", dim.name, dim.fallback ? "-1" : "0", comment);
  }

  std::string dims_struct() const {
    if (!has_dims()) return "";
    std::string text =
        "\n/* The dims of a launch, in elements. */\ntypedef struct " + name_ + "_dims_t {\n";
    Words initial;
    for (const Dim& dim : op_.dims) {
      if (dim.kind == DimKind::fixed) continue;
      text += dim_member(dim);
      initial.emplace_back(dim.fallback ? "-1" : "0");
    }
    text += fmt::format("}} {}_dims_t;\n", name_);
    if (std::ranges::find(initial, "-1") != initial.end()) {
      text += fmt::format(
          "/* In C, begin with this, so that the other dims have their defaults. */\n"
          "#define {}_DIMS_INIT {{{}}}\n",
          capitals(name_), fmt::join(initial, ", "));
    }
    return text;
  }

  std::string options_struct() const {
    std::string text =
        "\n/* What a plan is made for. */\ntypedef struct " + name_ + "_plan_options_t {\n";
    for (const Dim& dim : op_.dims) {
      if (dim.kind == DimKind::fixed) text += dim_member(dim);
    }
    for (const Flag& flag : op_.flags) text += member("bool", flag.name, "false", "");
    for (const Tensor& tensor : op_.tensors) {
      if (!tensor.optional) continue;
      text += member("bool", "with_" + tensor.name, "false", "launches pass " + tensor.name);
    }
    if (has_dims()) {
      text += fmt::format(
          "  {0}_dims_t smallest, largest; /* of the launches; both are included */\n", name_);
    } else if (text.ends_with("{\n")) {
      text += "  char nothing; /* the operator has no choices but its dtypes */\n";
    }
    return text + fmt::format("}} {}_plan_options_t;\n", name_);
  }

  std::string plan_type(const Combination& combination) const {
    return fmt::format(
        "\ntypedef struct {0}_plan_t {{\n  mgr_plan_t* handle; /* freed by mgr_plan_free "
        "*/\n  {1}_plan_options_t options;\n}} {0}_plan_t;\n",
        prefix(combination), name_);
  }

  std::size_t assignment_count() const {
    std::size_t count = op_.dtypes.size() + op_.flags.size();
    for (const Dim& dim : op_.dims) count += dim.kind == DimKind::fixed ? 1 : 0;
    for (const Tensor& tensor : op_.tensors) count += tensor.optional ? 1 : 0;
    return count;
  }

  std::string assignments(const Combination& combination) const {
    std::string text;
    const auto add = [&text](const std::string& name, const std::string& value) {
      text += fmt::format(
          "  assignments[assigned].name = \"{}\";\n"
          "  assignments[assigned].value = {};\n  ++assigned;\n",
          name, value);
    };
    for (const Dim& dim : op_.dims) {
      if (dim.kind != DimKind::fixed) continue;
      const std::string value = "options->" + c_name(dim.name);
      if (dim.fallback) text += fmt::format("  if ({} != -1) {{\n", value);
      text += fmt::format(
          "  snprintf(texts[assigned], sizeof(texts[0]), \"%lld\", (long long){});\n", value);
      add(dim.name, "texts[assigned]");
      if (dim.fallback) text += "  }\n";
    }
    for (std::size_t i = 0; i < op_.dtypes.size(); ++i) {
      add(op_.dtypes[i].name, fmt::format("\"{}\"", to_string(combination[i])));
    }
    for (const Flag& flag : op_.flags) {
      add(flag.name, fmt::format("options->{} ? \"true\" : \"false\"", c_name(flag.name)));
    }
    for (const Tensor& tensor : op_.tensors) {
      if (tensor.optional) {
        add(tensor.name, fmt::format("options->with_{} ? \"true\" : \"false\"", tensor.name));
      }
    }
    return text;
  }

  std::string ranges() const {
    std::string text;
    for (const Dim& dim : op_.dims) {
      if (dim.kind == DimKind::fixed) continue;
      const std::string name = c_name(dim.name);
      if (dim.fallback) {
        text += fmt::format("  if (options->smallest.{0} != -1 || options->largest.{0} != -1) {{\n",
                            name);
      }
      text += fmt::format(
          "  ranges[bounded].dim = \"{1}\";\n  ranges[bounded].low = "
          "options->smallest.{0};\n  ranges[bounded++].high = options->largest.{0};\n",
          name, dim.name);
      if (dim.fallback) text += "  }\n";
    }
    return text;
  }

  std::string plan_function(const Combination& combination) const {
    const std::size_t count = assignment_count();
    const auto bounds = static_cast<std::size_t>(
        std::ranges::count_if(op_.dims, [](const Dim& dim) { return dim.kind != DimKind::fixed; }));
    const bool has_static = bounds < op_.dims.size();
    std::string text = fmt::format(
        "\n/* mgr_plan. On success *plan is set. */\n"
        "static inline mgr_status_t {0}_plan(\n    mgr_context_t* context, "
        "const {1}_plan_options_t* options,\n"
        "    {0}_plan_t* plan) {{\n  mgr_plan_options_t all;\n  mgr_status_t status;\n"
        "  mgr_plan_t* handle = NULL;\n",
        prefix(combination), name_);
    if (count > 0)
      text += fmt::format("  mgr_assignment_t assignments[{}];\n  size_t assigned = 0;\n", count);
    if (has_static) text += fmt::format("  char texts[{}][24];\n", count);
    if (bounds > 0)
      text += fmt::format("  mgr_range_t ranges[{}];\n  size_t bounded = 0;\n", bounds);
    text += assignments(combination) + ranges();
    text += fmt::format(
        "  memset(&all, 0, sizeof(all));\n  all.struct_size = sizeof(all);\n"
        "  all.operator_name = \"{}\";\n",
        op_.full_name());
    if (count > 0) text += "  all.assignments = assignments;\n  all.assignment_count = assigned;\n";
    if (bounds > 0) text += "  all.ranges = ranges;\n  all.range_count = bounded;\n";
    return text +
           "  status = mgr_plan(context, &all, &handle);\n  if (status != MGR_OK) return status;\n"
           "  plan->handle = handle;\n  plan->options = *options;\n  return MGR_OK;\n}\n";
  }

  static std::string array(const std::string& declaration, const Words& values) {
    if (values.empty()) return "";
    return wrapped_list("  " + declaration + "[] = {", values, "};");
  }

  std::string launch_function(const Combination& combination) const {
    Words declared = {fmt::format("const {}_plan_t* plan", prefix(combination)), "void* stream"};
    Words dims, tensors, scalars;
    if (has_dims()) declared.push_back(fmt::format("const {}_dims_t* dims", name_));
    for (const Dim& dim : op_.dims) {
      if (dim.kind != DimKind::fixed) dims.push_back("dims->" + c_name(dim.name));
    }
    for (const Tensor& tensor : op_.tensors) {
      const std::string type = c_type(dtype_of(tensor, combination));
      declared.push_back(fmt::format("{}{}* {}", tensor.role == Role::in ? "const " : "", type,
                                     c_name(tensor.name)));
      tensors.push_back("(void*)" + c_name(tensor.name));
    }
    for (const Scalar& scalar : op_.scalars) {
      declared.push_back(scalar_type(scalar) + " " + c_name(scalar.name));
      scalars.push_back("(double)" + c_name(scalar.name));
    }
    declared.emplace_back("void* workspace");
    std::string text = "\n/* mgr_launch.\n";
    for (const Tensor& tensor : op_.tensors) {
      text += wrapped(" *   ", words_of(tensor_text(op_, tensor)), " *     ");
    }
    text += " */\n";
    text += wrapped_list(fmt::format("static inline mgr_status_t {}_launch(", prefix(combination)),
                         declared, ") {");
    const auto argument = [](const char* name, const Words& values) {
      return fmt::format("{}, {}", values.empty() ? "NULL" : name, values.size());
    };
    return text + array("const int64_t values", dims) + array("void* const pointers", tensors) +
           array("const double numbers", scalars) +
           fmt::format("  return mgr_launch(plan->handle, stream, {}, {}, {}, workspace);\n}}\n",
                       argument("values", dims), argument("pointers", tensors),
                       argument("numbers", scalars));
  }

  // mgr_launch takes doubles; 16-bit floats are rounded there.
  static std::string scalar_type(const Scalar& scalar) {
    const bool half = scalar.dtype == DType::f16 || scalar.dtype == DType::bf16;
    return half ? "float" : c_type(scalar.dtype);
  }

  // The expression in C++, which uses the locals `all` (dims) and `made` (options). nullopt if the
  // expression has a name that only the operator file knows.
  std::optional<std::string> translated(const Expression& expression,
                                        const Combination& combination) const {
    const std::string& text = expression.text();
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
      const auto is_letter = [&](std::size_t at) {
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                    text[at] == '_' || text[at] == '.');
      };
      if (!is_letter(i) || std::isdigit(static_cast<unsigned char>(text[i])) != 0) {
        out += text[i++];
        continue;
      }
      std::size_t end = i;
      while (is_letter(end)) ++end;
      const std::string word = text.substr(i, end - i);
      i = end;
      if (i < text.size() && text[i] == '(') {
        if (word != "has" && word != "sizeof") {
          out += "mgr::typed::" + word;
          continue;
        }
        const std::size_t close = text.find(')', i);
        const std::optional<std::string> value =
            fact(word, text.substr(i + 1, close - i - 1), combination);
        if (!value) return std::nullopt;
        out += *value;
        i = close + 1;
        continue;
      }
      const std::optional<std::string> value = value_of(word);
      if (!value) return std::nullopt;
      out += *value;
    }
    return out;
  }

  std::optional<std::string> value_of(const std::string& word) const {
    if (is_boolean(word)) return word;
    const auto dim = std::ranges::find(op_.dims, word, &Dim::name);
    if (dim != op_.dims.end()) {
      return (dim->kind == DimKind::fixed ? "made." : "all.") + c_name(word);
    }
    if (std::ranges::find(op_.flags, word, &Flag::name) != op_.flags.end()) {
      return "made." + c_name(word);
    }
    return std::nullopt;
  }

  // has(rstd) and sizeof(T)
  std::optional<std::string> fact(const std::string& function, const std::string& of,
                                  const Combination& combination) const {
    if (function == "has") return "made.with_" + of;
    for (std::size_t i = 0; i < op_.dtypes.size(); ++i) {
      if (op_.dtypes[i].name == of) return std::to_string(size_in_bytes(combination[i]));
    }
    const std::optional<DType> dtype = dtype_from_string(of);
    if (!dtype) return std::nullopt;
    return std::to_string(size_in_bytes(*dtype));
  }

  std::optional<std::string> list(const std::vector<Expression>& expressions,
                                  const Combination& combination) const {
    Words values;
    for (const Expression& expression : expressions) {
      std::optional<std::string> value = translated(expression, combination);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    return fmt::format("{{{}}}", fmt::join(values, ", "));
  }

  // The local variables from which lengths are computed, with defaults in place of -1.
  std::optional<std::string> resolved_dims(const Combination& combination) const {
    std::string text = fmt::format("  {}_plan_options_t made = plan.options;\n", name_);
    if (has_dims()) text += fmt::format("  {}_dims_t all = dims;\n", name_);
    for (const Dim& dim : op_.dims) {
      if (!dim.fallback) continue;
      const std::string name = *value_of(dim.name);
      const std::optional<std::string> value = translated(*dim.fallback, combination);
      if (!value) return std::nullopt;
      text += fmt::format("  if ({0} == -1) {0} = {1};\n", name, *value);
    }
    return text;
  }

  std::string span_checks(const Combination& combination) const {
    const std::optional<std::string> dims = resolved_dims(combination);
    if (!dims) return "";
    std::string checks;
    for (const Tensor& tensor : op_.tensors) {
      const std::optional<std::string> shape = list(tensor.shape, combination);
      const std::optional<std::string> strides = list(tensor.strides, combination);
      if (!shape || !strides) continue;
      const std::string name = c_name(tensor.name);
      const bool absent = tensor.optional || tensor.when;
      checks += fmt::format(
          "  if (const int64_t needed = mgr::typed::extent({0}, {1});\n"
          "      {2}static_cast<int64_t>({3}.size()) < needed) {{\n"
          "    return mgr::typed::too_short(\"{4}: the span '{5}'\", {3}.size(), "
          "needed);\n  }}\n",
          *shape, *strides, absent ? name + ".data() != nullptr && " : "", name, op_.full_name(),
          tensor.name);
    }
    if (checks.empty()) return "";
    // The lengths may not use both variables. A (void) avoids the compiler's warning about an
    // unused one.
    const bool uses_all = checks.find("all.") != std::string::npos;
    return *dims + (has_dims() && !uses_all ? "  (void)all;\n" : "") +
           (checks.find("made.") == std::string::npos && dims->find("= made.") == std::string::npos
                ? "  (void)made;\n"
                : "") +
           checks;
  }

  std::string span_function(const Combination& combination) const {
    Words declared = {fmt::format("const {}_plan_t& plan", prefix(combination))};
    Words passed = {"&plan", "stream"};
    if (has_dims()) {
      declared.push_back(fmt::format("const {}_dims_t& dims", name_));
      passed.emplace_back("&dims");
    }
    for (const Tensor& tensor : op_.tensors) {
      declared.push_back(fmt::format("std::span<{}{}> {}", tensor.role == Role::in ? "const " : "",
                                     c_type(dtype_of(tensor, combination)), c_name(tensor.name)));
      passed.push_back(c_name(tensor.name) + ".data()");
    }
    for (const Scalar& scalar : op_.scalars) {
      declared.push_back(scalar_type(scalar) + " " + c_name(scalar.name));
      passed.push_back(c_name(scalar.name));
    }
    declared.emplace_back("void* workspace = nullptr");
    declared.emplace_back("void* stream = nullptr");
    passed.emplace_back("workspace");
    return "\n" +
           wrapped_list(fmt::format("inline mgr::Status {}_launch(", name_), declared, ") {") +
           span_checks(combination) +
           wrapped_list(fmt::format("  return mgr::Status({}_launch(", prefix(combination)), passed,
                        "));") +
           "}\n";
  }

  const Operator& op_;
  const std::string name_;  // FAMILY_OPERATOR
};

}  // namespace

Result<TypedOperator> typed_operator(const Operator& op) { return OperatorWriter(op).write(); }

}  // namespace mgtune
