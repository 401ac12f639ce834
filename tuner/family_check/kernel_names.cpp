#include "family_check/kernel_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.h"
#include "family_check/kernel_functions.h"
#include "family_check/source_place.h"

namespace mgtune {
namespace {

// "" if the source has the kernel, or mentions the name in a way that only a compiler understands.
std::string unknown_name(const Operator& op, const std::string& source, const std::string& name,
                         const std::string& pointer) {
  const std::vector<KernelFunction> functions = kernel_functions(*op.sources, source);
  if (std::ranges::find(functions, name, &KernelFunction::name) != functions.end()) return "";
  if (mentions(*op.sources, source, name)) return "";
  std::string text = fmt::format("{}: no kernel '{}' in {}/{}", place_with_line(op, pointer), name,
                                 op.sources->folder, source);
  const std::string suggestion = did_you_mean(name, functions, &KernelFunction::name);
  if (!suggestion.empty()) return text + suggestion;
  std::vector<std::string> names;
  names.reserve(functions.size());
  for (const KernelFunction& function : functions) names.push_back(function.name);
  if (names.empty()) return text + ", which has no __global__ function";
  return text + fmt::format(", which has {}", fmt::join(names, ", "));
}

std::string name_of(const Operator& op, const Design& design, const Launch& launch,
                    const Argument& argument) {
  const auto index = static_cast<std::size_t>(std::max(argument.index, 0));
  switch (argument.kind) {
    case Argument::Kind::tensor:
      return op.tensors[index].name;
    case Argument::Kind::workspace:
      return design.workspace[index].name;
    case Argument::Kind::scalar:
      return op.scalars[index].name;
    case Argument::Kind::tensor_map:
      return launch.tensor_maps[index].name;
    case Argument::Kind::value:
      return argument.value->text();
  }
  return "";
}

// The first two args that have the names of each other's parameters.
std::string swapped_args(const Operator& op, const Design& design, std::size_t launch_index,
                         const KernelFunction& function) {
  const Launch& launch = design.launches[launch_index];
  const std::vector<std::string>& parameters = function.parameters;
  if (parameters.size() != launch.args.size()) return "";
  std::vector<std::string> args;
  for (const Argument& argument : launch.args) {
    args.push_back(name_of(op, design, launch, argument));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    for (std::size_t j = i + 1; j < args.size(); ++j) {
      if (args[i] != parameters[j] || args[j] != parameters[i] || args[i] == args[j]) continue;
      const std::string pointer =
          fmt::format("/designs/{}/launches/{}/args/{}", design.name, launch_index, i);
      return fmt::format(
          "\nargs {} and {} are `{}` and `{}`, but the kernel's parameters there are "
          "`{}` and `{}`: are they swapped? ({})",
          i, j, args[i], args[j], parameters[i], parameters[j], place_with_line(op, pointer));
    }
  }
  return "";
}

}  // namespace

std::vector<UnknownKernel> unknown_kernels(const Operator& op) {
  std::vector<UnknownKernel> unknown;
  const auto look_for = [&](const std::string& design, const std::string& source,
                            const std::string& name, const std::string& pointer) {
    std::string text = unknown_name(op, source, name, pointer);
    if (!text.empty()) unknown.push_back({design, std::move(text)});
  };
  // If there is no reference kernel, a file or a command gives the results.
  if (!op.check.reference.empty()) {
    look_for("", op.check.source, op.check.reference, "/check/reference");
  }
  if (!op.check.baseline.empty()) {
    look_for("", op.check.source, op.check.baseline, "/check/baseline");
  }
  for (const Tensor& tensor : op.tensors) {
    if (tensor.fill.kind != Fill::Kind::kernel) continue;
    look_for("", op.check.source, tensor.fill.kernel, "/tensors/" + tensor.name + "/fill/kernel");
  }
  for (const Design& design : op.designs) {
    for (std::size_t i = 0; i < design.launches.size(); ++i) {
      look_for(design.name, design.source, design.launches[i].kernel.name,
               fmt::format("/designs/{}/launches/{}/kernel", design.name, i));
    }
  }
  return unknown;
}

std::string kernel_places(const Operator& op, const Design& design) {
  const std::vector<KernelFunction> functions = kernel_functions(*op.sources, design.source);
  std::string text, swapped;
  for (std::size_t i = 0; i < design.launches.size(); ++i) {
    const std::string& name = design.launches[i].kernel.name;
    const auto function = std::ranges::find(functions, name, &KernelFunction::name);
    if (function == functions.end()) continue;
    const std::string place = fmt::format("kernel {} is defined at {}/{}:{}", name,
                                          op.sources->folder, function->file, function->line);
    if (text.find(place) == std::string::npos) text += "\n" + place;
    swapped += swapped_args(op, design, i, *function);
  }
  return text + swapped;
}

}  // namespace mgtune
