#include "scaffold/family_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/dtype.h"
#include "core/text.h"
#include "scaffold/first_space.h"

namespace mgtune {
namespace {

std::string list_text(const std::vector<std::string>& words, const char* between = ", ") {
  return fmt::format("{}", fmt::join(words, between));
}

double tolerance_of(DType dtype) {
  if (dtype == DType::f64) return 1e-12;
  if (dtype == DType::f16) return 2e-3;
  if (dtype == DType::bf16) return 1e-2;
  return 1e-5;
}

std::string dtype_of(const KernelParameter& parameter) {
  return parameter.type_variable.empty() ? std::string(to_string(parameter.dtype))
                                         : parameter.type_variable;
}

Json tensor_json(const DraftTensor& draft_tensor) {
  const auto& [parameter, role, shape] = draft_tensor;
  Json tensor = {{"role", role}, {"dtype", dtype_of(*parameter)}, {"shape", shape}};
  if (parameter->lanes == 2 || parameter->lanes == 4) {
    tensor["align"] = parameter->lanes * size_in_bytes(parameter->dtype);
  }
  const bool floating = !parameter->type_variable.empty() || is_floating(parameter->dtype);
  if (std::string_view(role) != "out") tensor["fill"] = floating ? "normal" : "uniform(0, 8)";
  return tensor;
}

Json cost(const FamilyDraft& draft) {
  std::vector<std::string> bytes;
  std::string flops;
  for (const auto& [parameter, role, shape] : draft.tensors) {
    const std::string size = parameter->type_variable.empty()
                                 ? std::to_string(size_in_bytes(parameter->dtype))
                                 : fmt::format("sizeof({})", parameter->type_variable);
    const bool both = std::string_view(role) == "inout";
    bytes.push_back(fmt::format("{}{} * {}", both ? "2 * " : "", list_text(shape, " * "), size));
    if (std::string_view(role) != "in" && flops.empty()) flops = list_text(shape, " * ");
  }
  return {{"bytes", list_text(bytes, " + ")}, {"flops", flops}};
}

Json check(const FamilyDraft& draft) {
  std::set<DType> outputs;
  for (const auto& [parameter, role, shape] : draft.tensors) {
    if (std::string_view(role) == "in") continue;
    outputs.insert(parameter->type_variable.empty() ? parameter->dtype : DType::f32);
  }
  Json tolerance = Json::object();
  for (const DType dtype : outputs) tolerance[to_string(dtype)] = tolerance_of(dtype);
  return {{"reference", draft.signature.name + "_reference"},
          {"measure", "relative_l2"},
          {"tolerance", std::move(tolerance)}};
}

// One problem. It is large for a GPU. For the cpu device it is small, and its sizes are not
// multiples of a block.
Json problem(const FamilyDraft& draft, bool emulation) {
  const std::size_t rank = std::max<std::size_t>(1, draft.sizes().size());
  constexpr std::int64_t kLarge[] = {std::int64_t{1} << 24, 4096, 1024};
  constexpr std::int64_t kSmall[] = {1000, 50, 20};
  const std::size_t of = std::min<std::size_t>(rank, 3) - 1;
  Json problem = Json::object();
  for (const std::string& dim : draft.dims) problem[dim] = emulation ? kSmall[of] : kLarge[of];
  for (const std::string& dim : draft.static_dims) {
    const bool along = dim_along({dim}, 'x') == dim || dim_along({dim}, 'y') == dim;
    const std::int64_t known = draft.static_values.at(dim).value_or(along ? 4096 : 5);
    problem[dim] = emulation ? std::min<std::int64_t>(known, 64) : known;
  }
  return Json::Array{std::move(problem)};
}

Json arguments(const FamilyDraft& draft) {
  Json all = Json::array();
  for (const KernelParameter& parameter : draft.signature.parameters) {
    const bool dim = std::ranges::find(draft.dims, parameter.name) != draft.dims.end();
    all.push_back(dim ? fmt::format("{}:{}", parameter.name, to_string(parameter.dtype))
                      : parameter.name);
  }
  return all;
}

std::string design_text(const FamilyDraft& draft) {
  Json params = Json::object(), first = Json::object();
  for (const DraftParameter& parameter : draft.params) {
    params[parameter.name] = parameter.values;
    first[parameter.name] = parameter.first;
  }
  std::string kernel = draft.signature.name;
  if (!draft.template_arguments.empty()) kernel += "<" + list_text(draft.template_arguments) + ">";
  std::string text = fmt::format("      \"source\": \"{}\",\n      \"params\": {},\n",
                                 draft.source_name, params.line_text());
  if (draft.defines.line_text() != "{}") {
    text += fmt::format("      \"defines\": {},\n", draft.defines.line_text());
  }
  if (draft.constant_memory.line_text() != "{}") {
    text += fmt::format("      \"constants\": {},\n", draft.constant_memory.line_text());
  }
  if (!draft.constraints.empty()) {
    text += fmt::format("      \"constraints\": {},\n", Json(draft.constraints).line_text());
  }
  return text + fmt::format(
                    "      \"launches\": [\n        {{\n"
                    "          \"kernel\": \"{}\",\n          \"grid\": {},\n"
                    "          \"block\": {},\n{}          \"args\": {}\n        }}\n      ],\n"
                    "      \"defaults\": [{}]\n",
                    kernel, Json(draft.grid).line_text(), Json(draft.block).line_text(),
                    draft.shared_bytes.empty()
                        ? ""
                        : fmt::format("          \"shared\": \"{}\",\n", draft.shared_bytes),
                    arguments(draft).line_text(), first.line_text());
}

std::vector<std::string> scalar_names(const FamilyDraft& draft) {
  std::vector<std::string> names;
  for (const KernelParameter& parameter : draft.signature.parameters) {
    const bool dim = std::ranges::find(draft.dims, parameter.name) != draft.dims.end();
    if (!parameter.pointer && !dim) names.push_back(parameter.name);
  }
  return names;
}

}  // namespace

std::string operator_text(const FamilyDraft& draft) {
  Json dims = Json::object();
  for (const std::string& dim : draft.dims) dims[dim] = "dynamic";
  for (const std::string& dim : draft.static_dims) dims[dim] = "static";
  std::string text = "{\n  \"format\": 1,\n";
  const auto add = [&text](const char* key, const Json& value) {
    if (value.line_text() != "{}") text += fmt::format("  \"{}\": {},\n", key, value.line_text());
  };
  add("dims", dims);
  add("dtypes", draft.dtypes);
  add("scalars", draft.scalars);
  std::vector<std::string> lines;
  for (const DraftTensor& tensor : draft.tensors) {
    const std::string& name = tensor.parameter->name;
    lines.push_back(fmt::format("    \"{}\": {}", name, tensor_json(tensor).line_text()));
  }
  text += fmt::format("  \"tensors\": {{\n{}\n  }},\n", list_text(lines, ",\n"));
  add("cost", cost(draft));
  add("check", check(draft));
  add("problems", {{"default", problem(draft, false)}, {"emulation", problem(draft, true)}});
  return text + fmt::format("  \"designs\": {{\n    \"first\": {{\n{}    }}\n  }}\n}}\n",
                            design_text(draft));
}

std::string reference_text(const FamilyDraft& draft) {
  std::vector<std::string> templates, parameters, members, outputs;
  for (const std::string& variable : draft.type_variables)
    templates.push_back("typename " + variable);
  templates.emplace_back("class Problem");
  std::string size;
  for (const auto& [parameter, role, shape] : draft.tensors) {
    const bool in = std::string_view(role) == "in";
    const std::string type = parameter->type_variable.empty()
                                 ? std::string(cuda_name(parameter->dtype))
                                 : parameter->type_variable;
    parameters.push_back((in ? "const " + type : "double") + "* " + parameter->name);
    if (in) continue;
    std::string count;
    for (const std::string& dim : shape) {
      const bool number = whole_number(dim).has_value();
      count += (count.empty() ? "" : " * ") + (number ? dim : "problem." + dim);
    }
    outputs.push_back(
        fmt::format("  for (long long i = first; i < {}; i += threads) {{\n"
                    "    {}[i] = not_written_yet;\n  }}\n",
                    count, parameter->name));
  }
  parameters.emplace_back("Problem problem");
  for (const std::string& dim : draft.dims) members.push_back("problem." + dim);
  for (const std::string& dim : draft.static_dims) members.push_back("problem." + dim);
  for (const std::string& name : scalar_names(draft)) members.push_back("problem." + name);
  return fmt::format(
      "// TO WRITE: what {0} must compute, in double precision. This skeleton gives NaN, so that "
      "every\n// variant is called wrong until you have replaced it by the formula.\n//\n"
      "// It runs twice per problem and need not be fast. mgtune launches it with as many blocks "
      "of "
      "128\n// threads as fill the GPU, whatever the problem is. So each thread has a loop, and "
      "nothing is shared. "
      "Inputs have their own\n// types; outputs are double and contiguous. An inout tensor holds "
      "its "
      "input when the kernel begins.\n// The sizes and scalars are members of `problem`: {1}.\n\n"
      "#include <mg/vec.cuh>  // mg::to_float(x): a half or bf16 as a float\n\n"
      "template <{2}>\n__global__ void {0}_reference({3}) {{\n"
      "  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;\n"
      "  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
      "  const double not_written_yet = nan(\"\");\n{4}}}\n",
      draft.signature.name, list_text(members), list_text(templates), list_text(parameters),
      list_text(outputs, ""));
}

}  // namespace mgtune
