// Writes mgruntime/operators.h: for each shipped operator a function with its dims, tensors and
// scalars as typed parameters, inline over mgr_launch, documented from the operator's file. A step
// of the build.
//   operators_header OUTPUT

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "family/catalog.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

constexpr std::size_t kColumns = 100;

// `head` and the items with blanks between them, broken into lines. All lines but the first start
// with `indent`.
std::string wrapped(const std::string& head, const std::vector<std::string>& items,
                    const std::string& indent) {
  std::string lines;
  std::string line = head;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && line.size() + 1 + items[i].size() > kColumns) {
      lines += line + "\n";
      line = indent + items[i];
    } else {
      line += (i > 0 ? " " : "") + items[i];
    }
  }
  return lines + line + "\n";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// `head`, the items with commas between them, `tail`.
std::string wrapped_list(const std::string& head, std::vector<std::string> items,
                         const std::string& tail) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i] += i + 1 < items.size() ? "," : tail;
  return wrapped(head, items, "    ");
}

std::string list(const std::vector<Expression>& expressions) {
  std::vector<std::string> texts;
  texts.reserve(expressions.size());
  for (const Expression& expression : expressions) texts.push_back(expression.text());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string dtype_text(const Operator& op, const DTypeRef& dtype) {
  for (const DTypeVariable& variable : op.dtypes) {
    if (variable.slot == dtype.slot) return variable.name;
  }
  return std::string(to_string(dtype.fixed));
}

// What a plan of the operator is made with.
std::string plan_text(const Operator& op) {
  std::vector<std::string> words;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) words.push_back(dim.name);
  }
  for (const DTypeVariable& variable : op.dtypes) {
    std::vector<std::string> dtypes;
    for (const DType dtype : variable.values) dtypes.emplace_back(to_string(dtype));
    words.push_back(fmt::format("{} ({})", variable.name, fmt::join(dtypes, ", ")));
  }
  for (const Flag& flag : op.flags) words.push_back(flag.name + " (true or false)");
  for (const Tensor& tensor : op.tensors) {
    if (tensor.optional) words.push_back(tensor.name + " (true where it is passed)");
  }
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

std::string tensor_text(const Operator& op, const Tensor& tensor) {
  static constexpr const char* kRoles[] = {"read", "written", "read and written"};
  std::string text = fmt::format("{}: {} {}, {}", tensor.name, dtype_text(op, tensor.dtype),
                                 list(tensor.shape), kRoles[static_cast<std::size_t>(tensor.role)]);
  text += tensor.strides.empty() ? ", contiguous" : ", strides " + list(tensor.strides);
  if (tensor.align > 0) text += fmt::format(", aligned to {} bytes", tensor.align);
  if (tensor.optional) text += ", null in a plan without it";
  if (tensor.when) text += ", null unless " + tensor.when->text();
  return text;
}

std::string comment(const Operator& op, const std::string& function) {
  std::string text = fmt::format("/* {}: launches a plan of {}.\n *\n", function, op.full_name());
  const auto add = [&](const std::string& line) {
    text += wrapped(" *   ", words_of(line), " *   ");
  };
  add("plan: made with " + plan_text(op));
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) continue;
    std::string line = dim.name + ": ";
    line += dim.kind == DimKind::hint ? "a bound of lengths in device memory" : "elements";
    if (dim.fallback) line += "; -1: " + dim.fallback->text();
    add(line);
  }
  for (const Tensor& tensor : op.tensors) add(tensor_text(op, tensor));
  for (const Scalar& scalar : op.scalars) {
    add(fmt::format("{}: passed on as {}", scalar.name, to_string(scalar.dtype)));
  }
  return text + " */\n";
}

struct Parameters {
  std::vector<std::string> declared = {"const mgr_plan_t* plan", "void* stream"};
  std::set<std::string> names = {"plan", "stream", "workspace", "dims", "tensors", "scalars"};
  bool clash = false;

  void add(const std::string& type, const std::string& name) {
    clash = clash || !names.insert(name).second;
    declared.push_back(type + name);
  }
};

// "  const int64_t dims[] = {rows, x_stride};\n"; nothing for no values.
std::string array(const std::string& declaration, const std::vector<std::string>& values) {
  if (values.empty()) return "";
  return wrapped_list("  " + declaration + "[] = {", values, "};");
}

std::string argument(const char* name, std::size_t count) {
  return fmt::format("{}, {}", count == 0 ? "NULL" : name, count);
}

Result<std::string> function_of(const Operator& op) {
  const std::string function = fmt::format("mgr_{}_{}", op.family, op.name);
  Parameters parameters;
  std::vector<std::string> dims, tensors, scalars;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) continue;
    parameters.add("int64_t ", dim.name);
    dims.push_back(dim.name);
  }
  for (const Tensor& tensor : op.tensors) {
    parameters.add(tensor.role == Role::in ? "const void* " : "void* ", tensor.name);
    tensors.push_back(tensor.role == Role::in ? "(void*)" + tensor.name : tensor.name);
  }
  for (const Scalar& scalar : op.scalars) {
    parameters.add("double ", scalar.name);
    scalars.push_back(scalar.name);
  }
  parameters.declared.emplace_back("void* workspace");
  if (parameters.clash) {
    return invalid_argument(op.file + ": two parameters of its entry point have one name");
  }
  return comment(op, function) +
         wrapped_list("static inline mgr_status_t " + function + "(", parameters.declared, ") {") +
         array("const int64_t dims", dims) + array("void* const tensors", tensors) +
         array("const double scalars", scalars) +
         fmt::format("  return mgr_launch(plan, stream, {}, {}, {}, workspace);\n}}\n",
                     argument("dims", dims.size()), argument("tensors", tensors.size()),
                     argument("scalars", scalars.size()));
}

constexpr char kHead[] =
    "/* Typed entry points of the operators that are built into libmgruntime, made from their "
    "files:\n"
    " * mgr_FAMILY_OPERATOR(plan, stream, dims, tensors, scalars, workspace) is mgr_launch with a\n"
    " * parameter for each of them. mgruntime.h says what they mean, which statuses there are, and "
    "what\n"
    " * threads and captures may do. Shapes and strides count elements; tensors are device "
    "pointers.\n"
    " */\n\n"
    "#ifndef MGRUNTIME_OPERATORS_H_\n#define MGRUNTIME_OPERATORS_H_\n\n"
    "#include \"mgruntime/mgruntime.h\"\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
constexpr char kFoot[] = "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* MGRUNTIME_OPERATORS_H_ */\n";

Status write_header(const std::string& path) {
  Catalog catalog(FileSystem::real());
  std::string text = kHead;
  for (const std::string& family : Catalog::shipped_families()) {
    MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(family));
    for (const Operator* op : operators) {
      MGTUNE_ASSIGN(const std::string function, function_of(*op));
      text += "\n" + function;
    }
  }
  return FileSystem::real().write_file(path, text + kFoot);
}

}  // namespace
}  // namespace mgtune

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: operators_header OUTPUT\n");
    return 2;
  }
  const mgtune::Status status = mgtune::write_header(words[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
