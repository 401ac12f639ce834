// Writes mgruntime/operators.h: for each shipped operator a function with its dims, tensors and
// scalars as typed parameters, inline over mgr_launch, documented from the operator's file. A step
// of the build.
//   operators_header OUTPUT

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "family/catalog.h"
#include "header_text/header_text.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

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
