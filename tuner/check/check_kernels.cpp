#include "check/check_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/reference.h"
#include "device/build_module.h"
#include "family/source_tree.h"
#include "tensors/element_mover.h"

namespace mgtune {
namespace {

// Turns the failure of a kernel that checks every variant of the problem into a message. It blames
// the family if the kernel belongs to the family, otherwise mgtune. Failures of the machine stay as
// they are.
Status kernel_failure(const Operator& op, bool is_own, Status failure) {
  switch (failure.code()) {
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
    case StatusCode::compile_failed:
    case StatusCode::launch_failed:
    case StatusCode::timeout:
    case StatusCode::device_lost:
      if (is_own) return invalid_argument(reference_text(op) + ": " + failure.message());
      return internal_error("the check's own fill kernels: " + failure.message());
    default:
      return failure;
  }
}

// The bytes of the struct `Problem` that kernels take by value; `scalars` are in declared order.
std::vector<std::uint8_t> problem_struct(const Problem& problem,
                                         const std::vector<ScalarValue>& scalars) {
  const Operator& op = *problem.op;
  std::vector<std::uint8_t> bytes;
  std::size_t alignment = 1;
  const auto pad_to = [&](std::size_t step) {
    bytes.resize((bytes.size() + step - 1) / step * step);
  };
  // Every member is aligned to its own size, as compilers for x86-64 and for GPUs align it.
  const auto add = [&](const void* value, std::size_t size) {
    pad_to(size);
    const auto* first = static_cast<const std::uint8_t*>(value);
    bytes.insert(bytes.end(), first, first + size);
    alignment = std::max(alignment, size);
  };
  for (const Dim& dim : op.dims) {
    add(&problem.slots[static_cast<std::size_t>(dim.slot)], sizeof(long long));
  }
  for (std::size_t i = 0; i < op.scalars.size(); ++i) {
    add(&scalars[i], static_cast<std::size_t>(size_in_bytes(op.scalars[i].dtype)));
  }
  for (const Flag& flag : op.flags) {
    const bool is_set = problem.slots[static_cast<std::size_t>(flag.slot)] != 0;
    add(&is_set, sizeof(is_set));
  }
  pad_to(alignment);
  if (bytes.empty()) bytes.push_back(0);  // a struct without members has one byte
  return bytes;
}

}  // namespace

Result<std::shared_ptr<CheckKernels>> CheckKernels::make(Device& device, Builder& builder,
                                                         const Problem& problem,
                                                         const std::vector<std::string>& own,
                                                         const std::vector<std::string>& fills) {
  std::shared_ptr<CheckKernels> kernels(new CheckKernels(device, problem));
  MGTUNE_TRY(kernels->encode_scalars());
  if (!own.empty()) MGTUNE_TRY(kernels->load_own(builder, own));
  if (fills.empty()) return kernels;
  Result<std::unique_ptr<Module>> built =
      build_module(device, builder, embedded_source_tree("kernels/common"), "fill.cu", fills);
  if (!built.ok()) return kernel_failure(*problem.op, false, std::move(built).take_status());
  kernels->fill_module_ = *std::move(built);
  return kernels;
}

Status CheckKernels::encode_scalars() {
  const Operator& op = *problem_->op;
  for (const Scalar& scalar : op.scalars) {
    if (encode_scalar(scalar.check_value, scalar.dtype, scalars_.emplace_back())) continue;
    return invalid_argument(fmt::format("{}: the check value {} of scalar '{}' is none of {}",
                                        op.full_name(), scalar.check_value, scalar.name,
                                        to_string(scalar.dtype)));
  }
  return {};
}

Status CheckKernels::load_own(Builder& builder, const std::vector<std::string>& names) {
  const Operator& op = *problem_->op;
  Result<std::unique_ptr<Module>> built =
      build_module(*device_, builder, reference_sources(op), kReferenceUnit, names);
  if (!built.ok()) {
    if (built.status().code() == StatusCode::compile_failed) {
      MGTUNE_TRY(builder.check_compiler(device_->info().arch));
    }
    return kernel_failure(op, true, std::move(built).take_status());
  }
  own_module_ = *std::move(built);
  return {};
}

Status CheckKernels::launch_own(const Kernel* kernel, std::vector<void*>& args) const {
  std::vector<std::uint8_t> problem = problem_struct(*problem_, scalars_);
  args.push_back(problem.data());
  const std::vector<std::size_t>& parameters = kernel->parameter_bytes();
  if (parameters.size() == args.size() && parameters.back() != problem.size()) {
    return kernel_failure(
        *problem_->op, true,
        invalid_argument(fmt::format("the last parameter of {} has {} bytes; it has to be the "
                                     "struct Problem, which has {}",
                                     kernel->name(), parameters.back(), problem.size())));
  }
  return launch(kernel, true, args);
}

Status CheckKernels::launch(const Kernel* kernel, bool is_own, std::vector<void*>& args) const {
  if (kernel->parameter_bytes().size() != args.size()) {
    return kernel_failure(*problem_->op, is_own,
                          invalid_argument(fmt::format(
                              "{} takes {} parameters, the operator gives it {}", kernel->name(),
                              kernel->parameter_bytes().size(), args.size())));
  }
  Status status = device_->launch({.kernel = kernel,
                                   .grid = {striding_blocks(device_->info()), 1, 1},
                                   .block = {kStridingThreads, 1, 1},
                                   .args = args.data()});
  if (status.ok()) status = device_->synchronize(nullptr);
  if (status.ok()) return status;
  return kernel_failure(*problem_->op, is_own, std::move(status).with_context(kernel->name()));
}

Status CheckKernels::launch_fill(const Kernel* kernel, std::vector<void*>& args) const {
  return launch(kernel, false, args);
}

Status CheckKernels::own_failure(Status failure) const {
  return kernel_failure(*problem_->op, true, std::move(failure));
}

}  // namespace mgtune
