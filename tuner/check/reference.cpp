#include "check/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "check/given_results.h"
#include "core/dtype.h"
#include "device/build_module.h"
#include "family/source_tree.h"
#include "tensors/array_file.h"

namespace mgtune {
namespace {

constexpr std::uint32_t kReferenceBlocks = 64, kReferenceThreads = 128;

// "rmsnorm_forward_reference<float, float, Problem>": the dtype variables, then the struct.
std::string instance_name(const std::string& name, const Problem& problem) {
  std::string arguments;
  for (const DTypeVariable& variable : problem.op->dtypes) {
    const auto dtype = static_cast<DType>(problem.slots[static_cast<std::size_t>(variable.slot)]);
    arguments += std::string(cuda_name(dtype)) + ", ";
  }
  return name + "<" + arguments + "Problem>";
}

Result<std::string> fill_name(const Tensor& tensor, DType dtype) {
  switch (tensor.fill.kind) {
    case Fill::Kind::normal:
      return fmt::format("fill_normal<{}>", cuda_name(dtype));
    case Fill::Kind::uniform:
      return fmt::format("fill_uniform<{}>", cuda_name(dtype));
    case Fill::Kind::kernel:
      return fmt::format("{}<{}, Problem>", tensor.fill.kernel, cuda_name(dtype));
    case Fill::Kind::normal_poisoned_tail:
      return unsupported("tensor " + tensor.name + ": no check fills \"normal_poisoned_tail\" yet");
    case Fill::Kind::file:
    case Fill::Kind::output:
    case Fill::Kind::none:
      break;
  }
  return invalid_argument("tensor " + tensor.name + ": an input needs a fill");
}

bool has_file(const TensorLayout& layout, const Tensor& tensor) {
  return layout.present && tensor.fill.kind == Fill::Kind::file;
}

// Whether a kernel fills the tensor.
bool needs_fill(const TensorLayout& layout, const Tensor& tensor) {
  return layout.present && layout.role != Role::out && tensor.fill.kind != Fill::Kind::output &&
         tensor.fill.kind != Fill::Kind::file;
}

// Generators add to the seed, so the seeds of different tensors and runs are far apart.
std::uint64_t tensor_seed(std::uint64_t seed, std::size_t tensor) {
  return (seed << 32U) + 0x9e3779b97f4a7c15U * (tensor + 1);
}

// A failure of a kernel that every variant of the problem is checked with. The family is blamed if
// the kernel is its own, and mgtune if it is not. Failures of the machine stay as they are.
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

// The elements of a strided image in row-major order. The reference's outputs have this order.
std::vector<double> elements_as_doubles(const TensorLayout& layout, const Bytes& image) {
  std::vector<double> values(static_cast<std::size_t>(layout.count));
  for_each_element(layout, [&](std::int64_t element, std::int64_t offset) {
    values[static_cast<std::size_t>(element)] =
        element_as_double(image.data(), offset, layout.dtype);
  });
  return values;
}

bool has_scalar(const Operator& op, DType dtype) {
  return std::ranges::find(op.scalars, dtype, &Scalar::dtype) != op.scalars.end();
}

std::string struct_definition(const Operator& op) {
  std::string text;
  if (has_scalar(op, DType::f16)) text += "#include <cuda_fp16.h>\n";
  if (has_scalar(op, DType::bf16)) text += "#include <cuda_bf16.h>\n";
  text += "struct Problem {\n";
  for (const Dim& dim : op.dims) text += fmt::format("  long long {};\n", dim.name);
  for (const Scalar& scalar : op.scalars) {
    text += fmt::format("  {} {};\n", cuda_name(scalar.dtype), scalar.name);
  }
  for (const Flag& flag : op.flags) text += fmt::format("  bool {};\n", flag.name);
  return text + "};\n";
}

// A `Problem` as kernels take it by value; `scalars` in declared order.
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

SourceTree reference_sources(const Operator& op) {
  SourceTree sources = *op.sources;
  sources.files[kReferenceUnit] =
      fmt::format("{}#include \"{}\"\n", struct_definition(op), op.check.source);
  return sources;
}

Result<std::vector<double>> read_doubles(Device& device, const Buffer& buffer, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  if (!values.empty()) {
    MGTUNE_TRY(device.copy_to_host(values.data(), buffer.data(), values.size() * sizeof(double)));
  }
  return values;
}

std::string reference_text(const Operator& op) {
  if (has_given_results(op.check)) return given_results_text(op);
  return op.sources->folder + "/" + op.check.source + ": " + op.check.reference;
}

Reference::Reference(Device& device, const Problem& problem,
                     const std::vector<TensorLayout>& layouts)
    : device_(&device), problem_(&problem), layouts_(&layouts), fills_(layouts.size(), nullptr) {}

Result<Reference> Reference::make(Device& device, Builder& builder, const Problem& problem,
                                  const std::vector<TensorLayout>& layouts) {
  Reference reference(device, problem, layouts);
  MGTUNE_TRY(reference.load(builder));
  return reference;
}

Status Reference::load(Builder& builder) {
  const Operator& op = *problem_->op;
  for (const Scalar& scalar : op.scalars) {
    if (encode_scalar(scalar.check_value, scalar.dtype, scalars_.emplace_back())) continue;
    return invalid_argument(fmt::format("{}: the check value {} of scalar '{}' is none of {}",
                                        op.full_name(), scalar.check_value, scalar.name,
                                        to_string(scalar.dtype)));
  }
  std::vector<std::string> own, common;
  const bool has_kernel = !has_given_results(op.check);
  if (has_kernel) own.push_back(instance_name(op.check.reference, *problem_));
  const bool has_baseline = !op.check.baseline.empty();
  if (has_baseline) own.push_back(instance_name(op.check.baseline, *problem_));
  std::vector<std::string> fills(layouts_->size());
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (!needs_fill((*layouts_)[i], op.tensors[i])) continue;
    MGTUNE_ASSIGN(fills[i], fill_name(op.tensors[i], (*layouts_)[i].dtype));
    (op.tensors[i].fill.kind == Fill::Kind::kernel ? own : common).push_back(fills[i]);
  }

  if (!own.empty()) MGTUNE_TRY(load_own(builder, own));
  if (has_kernel) {
    MGTUNE_ASSIGN(kernel_, own_module_->kernel(own[0]));
  }
  if (has_baseline) {
    MGTUNE_ASSIGN(baseline_, own_module_->kernel(own[1]));
  }
  if (!common.empty()) {
    Result<std::unique_ptr<Module>> built =
        build_module(*device_, builder, embedded_source_tree("kernels/common"), "fill.cu", common);
    if (!built.ok()) return kernel_failure(op, false, std::move(built).take_status());
    common_module_ = *std::move(built);
  }
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (fills[i].empty()) continue;
    const bool is_own = op.tensors[i].fill.kind == Fill::Kind::kernel;
    MGTUNE_ASSIGN(fills_[i], (is_own ? own_module_ : common_module_)->kernel(fills[i]));
  }
  return {};
}

Status Reference::load_own(Builder& builder, const std::vector<std::string>& kernels) {
  const Operator& op = *problem_->op;
  Result<std::unique_ptr<Module>> built =
      build_module(*device_, builder, reference_sources(op), kReferenceUnit, kernels);
  if (!built.ok()) {
    if (built.status().code() == StatusCode::compile_failed) {
      MGTUNE_TRY(builder.check_compiler(device_->info().arch));
    }
    return kernel_failure(op, true, std::move(built).take_status());
  }
  own_module_ = *std::move(built);
  return {};
}

Status Reference::launch_own(const Kernel* kernel, std::vector<void*>& args) const {
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

Status Reference::launch(const Kernel* kernel, bool is_own, std::vector<void*>& args) const {
  if (kernel->parameter_bytes().size() != args.size()) {
    return kernel_failure(*problem_->op, is_own,
                          invalid_argument(fmt::format(
                              "{} takes {} parameters, the operator gives it {}", kernel->name(),
                              kernel->parameter_bytes().size(), args.size())));
  }
  Status status = device_->launch({.kernel = kernel,
                                   .grid = {kReferenceBlocks, 1, 1},
                                   .block = {kReferenceThreads, 1, 1},
                                   .args = args.data()});
  if (status.ok()) status = device_->synchronize(nullptr);
  if (status.ok()) return status;
  return kernel_failure(*problem_->op, is_own, std::move(status).with_context(kernel->name()));
}

Result<Bytes> Reference::fill_elements(std::size_t tensor, std::uint64_t seed) const {
  const TensorLayout& layout = (*layouts_)[tensor];
  const Fill& fill = problem_->op->tensors[tensor].fill;
  Bytes elements(static_cast<std::size_t>(layout.count * size_in_bytes(layout.dtype)));
  if (elements.empty()) return elements;
  MGTUNE_ASSIGN(const Buffer buffer, Buffer::allocate(*device_, elements.size()));

  void* out = buffer.data();
  std::int64_t count = layout.count;
  std::uint64_t own_seed = tensor_seed(seed, tensor);
  auto low = static_cast<float>(fill.low), high = static_cast<float>(fill.high);
  std::vector<void*> args{&out};
  if (fill.kind == Fill::Kind::kernel) {
    args.push_back(&own_seed);
    MGTUNE_TRY(launch_own(fills_[tensor], args));
  } else {
    args.insert(args.end(), {&count, &own_seed});
    if (fill.kind == Fill::Kind::uniform) args.insert(args.end(), {&low, &high});
    MGTUNE_TRY(launch(fills_[tensor], false, args));
  }
  MGTUNE_TRY(device_->copy_to_host(elements.data(), out, elements.size()));
  return elements;
}

Status Reference::fill(ProblemTensors& tensors, std::uint64_t seed) const {
  for (std::size_t i = 0; i < layouts_->size(); ++i) {
    if (!needs_fill((*layouts_)[i], problem_->op->tensors[i])) continue;
    MGTUNE_ASSIGN(const Bytes elements, fill_elements(i, seed));
    tensors.set_content(i, strided_image((*layouts_)[i], elements));
  }
  return fill_from_files(tensors);
}

// The content is the same for every seed.
Status Reference::fill_from_files(ProblemTensors& tensors) const {
  const Operator& op = *problem_->op;
  for (std::size_t i = 0; i < layouts_->size(); ++i) {
    if (!has_file((*layouts_)[i], op.tensors[i])) continue;
    const std::string place = op.place("/tensors/" + op.tensors[i].name + "/fill");
    const ArraySource& source = op.tensors[i].fill.file;
    const Result<ArrayFile> array = read_array_file(op.sources->folder, source);
    if (!array.ok()) return invalid_argument(place + ": " + array.status().message());
    const Result<Bytes> elements = elements_for(*array, (*layouts_)[i]);
    if (!elements.ok()) {
      return invalid_argument(place + ": " + source.path + ": " + elements.status().message());
    }
    tensors.set_content(i, strided_image((*layouts_)[i], *elements));
  }
  return {};
}

Result<std::vector<Buffer>> Reference::compute(ProblemTensors& tensors) const {
  if (kernel_ != nullptr) return compute(kernel_, tensors);
  MGTUNE_TRY(tensors.prepare());
  Result<std::vector<std::vector<double>>> results =
      given_results(*problem_, *layouts_, scalars_, tensors);
  if (!results.ok()) return kernel_failure(*problem_->op, true, std::move(results).take_status());
  std::vector<Buffer> outputs(layouts_->size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorLayout& layout = (*layouts_)[i];
    if (!layout.is_output() || !layout.present) continue;
    const std::size_t bytes = (*results)[i].size() * sizeof(double);
    MGTUNE_ASSIGN(outputs[i], Buffer::allocate(*device_, std::max<std::size_t>(bytes, 1)));
    if (bytes == 0) continue;
    MGTUNE_TRY(device_->copy_to_device(outputs[i].data(), (*results)[i].data(), bytes));
  }
  return outputs;
}

Result<std::vector<Buffer>> Reference::compute(const Kernel* kernel,
                                               ProblemTensors& tensors) const {
  MGTUNE_TRY(tensors.prepare());
  std::vector<void*> pointers(tensors.pointers().begin(), tensors.pointers().end());
  std::vector<Buffer> outputs(layouts_->size());
  const bool is_single = problem_->op->check.reference_type == DType::f32;
  const std::size_t element_bytes = is_single ? sizeof(float) : sizeof(double);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorLayout& layout = (*layouts_)[i];
    if (!layout.is_output() || !layout.present) continue;
    const std::size_t bytes = static_cast<std::size_t>(layout.count) * element_bytes;
    MGTUNE_ASSIGN(outputs[i], Buffer::allocate(*device_, std::max<std::size_t>(bytes, 1)));
    pointers[i] = outputs[i].data();
    if (layout.role != Role::inout || bytes == 0) continue;
    const std::vector<double> values = elements_as_doubles(layout, tensors.content(i));
    if (is_single) {
      const std::vector<float> singles(values.begin(), values.end());
      MGTUNE_TRY(device_->copy_to_device(pointers[i], singles.data(), bytes));
    } else {
      MGTUNE_TRY(device_->copy_to_device(pointers[i], values.data(), bytes));
    }
  }

  std::vector<void*> args;
  args.reserve(pointers.size());
  for (void*& pointer : pointers) args.push_back(&pointer);
  MGTUNE_TRY(launch_own(kernel, args));
  if (is_single) MGTUNE_TRY(widen(outputs));
  return outputs;
}

// Callers compare doubles, whatever the reference writes.
Status Reference::widen(std::vector<Buffer>& outputs) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorLayout& layout = (*layouts_)[i];
    if (!layout.is_output() || !layout.present || layout.count == 0) continue;
    std::vector<float> singles(static_cast<std::size_t>(layout.count));
    MGTUNE_TRY(
        device_->copy_to_host(singles.data(), outputs[i].data(), singles.size() * sizeof(float)));
    const std::vector<double> values(singles.begin(), singles.end());
    MGTUNE_ASSIGN(outputs[i], Buffer::allocate(*device_, values.size() * sizeof(double)));
    MGTUNE_TRY(
        device_->copy_to_device(outputs[i].data(), values.data(), values.size() * sizeof(double)));
  }
  return {};
}

}  // namespace mgtune
