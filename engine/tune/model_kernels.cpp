#include "tune/model_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace mgtune::engine {
namespace {

Result<ModelKernel> kernel_of(KernelCall call, Catalog& catalog) {
  MGTUNE_ASSIGN(const Operator* const op, catalog.find_operator(call.operator_name));
  ProblemValues words;
  for (const auto& [name, value] : call.assignments) words[name] = value;
  for (const auto& [name, value] : call.dims) {
    if (value >= 0) words[name] = std::to_string(value);
  }
  MGTUNE_ASSIGN(Problem problem, bind_problem(*op, words));
  MGTUNE_ASSIGN(const std::int64_t bytes, op->bytes.evaluate(problem.slots));
  MGTUNE_ASSIGN(const std::int64_t flops, op->flops.evaluate(problem.slots));
  ModelKernel kernel;
  kernel.call = std::move(call);
  kernel.problem = std::move(problem);
  kernel.bytes = static_cast<double>(bytes);
  kernel.flops = static_cast<double>(flops);
  return kernel;
}

}  // namespace

std::vector<Program> programs_at(std::span<const Program> programs,
                                 std::span<const std::uint32_t> positions) {
  std::vector<Program> found;
  for (const std::uint32_t position : positions) {
    found.push_back(*std::ranges::find_if(
        programs, [&](const Program& program) { return position < program.positions; }));
  }
  return found;
}

Result<std::vector<ModelKernel>> model_kernels(std::span<const Program> programs,
                                               Catalog& catalog) {
  std::vector<ModelKernel> kernels;
  std::map<std::string, std::size_t> places;
  for (const Program& program : programs) {
    std::map<std::size_t, std::uint32_t> counts;
    for (const Instruction& instruction : program.instructions) {
      std::optional<KernelCall> call = kernel_call(program, instruction);
      if (!call) continue;
      const auto [place, is_new] = places.emplace(text_of(*call), kernels.size());
      if (is_new) {
        MGTUNE_ASSIGN(ModelKernel kernel, kernel_of(*std::move(call), catalog));
        kernels.push_back(std::move(kernel));
      }
      ++counts[place->second];
    }
    for (const auto& [place, count] : counts) {
      kernels[place].count = std::max(kernels[place].count, count);
      kernels[place].mean_count +=
          static_cast<double>(count) / static_cast<double>(programs.size());
    }
  }
  std::ranges::stable_sort(kernels, std::greater(),
                           [](const ModelKernel& kernel) { return kernel.bytes * kernel.count; });
  return kernels;
}

// JSON has to escape nothing in these names and texts.
std::string recording_of(std::span<const ModelKernel> kernels) {
  std::string text;
  for (const ModelKernel& kernel : kernels) {
    text += fmt::format("{{\"operator\": \"{}\", \"problem\": \"{}\", \"launches\": {}}}\n",
                        kernel.problem.op->full_name(), kernel.problem.text(), kernel.count);
  }
  return text;
}

}  // namespace mgtune::engine
