#include "check/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "check/given_results.h"
#include "core/dtype.h"
#include "family/source_tree.h"
#include "tensors/array_file.h"

namespace mgtune {
namespace {

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

Result<Reference> Reference::make(Device& device, Builder& builder, const Problem& problem,
                                  const std::vector<TensorLayout>& layouts) {
  Reference reference(device, problem, layouts);
  MGTUNE_TRY(reference.load(builder));
  return reference;
}

Status Reference::load(Builder& builder) {
  const Operator& op = *problem_->op;
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

  MGTUNE_ASSIGN(kernels_, CheckKernels::make(*device_, builder, *problem_, own, common));
  if (has_kernel) {
    MGTUNE_ASSIGN(kernel_, kernels_->own(own[0]));
  }
  if (has_baseline) {
    MGTUNE_ASSIGN(baseline_, kernels_->own(own[1]));
  }
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (fills[i].empty()) continue;
    const bool is_own = op.tensors[i].fill.kind == Fill::Kind::kernel;
    MGTUNE_ASSIGN(fills_[i], is_own ? kernels_->own(fills[i]) : kernels_->fill(fills[i]));
  }
  MGTUNE_ASSIGN(ElementMover mover,
                ElementMover::make(*device_, builder, *layouts_, op.check.reference_type));
  mover_ = std::make_shared<const ElementMover>(std::move(mover));
  return {};
}

// The generator must not refer to this Reference, because the generator outlives it.
ProblemTensors::Generator Reference::generator(std::size_t tensor, std::uint64_t seed) const {
  const TensorLayout& layout = (*layouts_)[tensor];
  const Fill& fill = problem_->op->tensors[tensor].fill;
  auto fill_elements = [kernels = kernels_, kernel = fills_[tensor], &fill, count = layout.count,
                        own_seed = tensor_seed(seed, tensor)](void* out) mutable -> Status {
    std::vector<void*> args{&out};
    if (fill.kind == Fill::Kind::kernel) {
      args.push_back(&own_seed);
      return kernels->launch_own(kernel, args);
    }
    args.insert(args.end(), {&count, &own_seed});
    auto low = static_cast<float>(fill.low), high = static_cast<float>(fill.high);
    if (fill.kind == Fill::Kind::uniform) args.insert(args.end(), {&low, &high});
    return kernels->launch_fill(kernel, args);
  };
  if (layout.is_contiguous()) return fill_elements;
  return [fill_elements, mover = mover_, device = device_, &layout](void* image) mutable -> Status {
    const auto bytes = static_cast<std::size_t>(layout.count * size_in_bytes(layout.dtype));
    MGTUNE_ASSIGN(const Buffer elements, Buffer::allocate(*device, bytes));
    MGTUNE_TRY(fill_elements(elements.data()));
    return mover->place(layout, image, elements.data());
  };
}

Status Reference::fill(ProblemTensors& tensors, std::uint64_t seed) const {
  for (std::size_t i = 0; i < layouts_->size(); ++i) {
    if (!needs_fill((*layouts_)[i], problem_->op->tensors[i])) continue;
    tensors.set_generator(i, generator(i, seed));
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
      given_results(*problem_, *layouts_, scalars(), tensors);
  if (!results.ok()) return kernels_->own_failure(std::move(results).take_status());
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
    MGTUNE_TRY(mover_->convert(layout, pointers[i], problem_->op->check.reference_type,
                               tensors.pointers()[i]));
  }

  std::vector<void*> args;
  args.reserve(pointers.size());
  for (void*& pointer : pointers) args.push_back(&pointer);
  MGTUNE_TRY(kernels_->launch_own(kernel, args));
  if (is_single) MGTUNE_TRY(widen(outputs));
  return outputs;
}

// Callers compare doubles, even if the reference writes floats.
Status Reference::widen(std::vector<Buffer>& outputs) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorLayout& layout = (*layouts_)[i];
    if (!layout.is_output() || !layout.present || layout.count == 0) continue;
    TensorLayout singles;
    singles.dtype = problem_->op->check.reference_type;
    singles.shape = {layout.count};
    singles.strides = {1};
    singles.count = singles.span = layout.count;
    MGTUNE_ASSIGN(
        Buffer doubles,
        Buffer::allocate(*device_, static_cast<std::size_t>(layout.count) * sizeof(double)));
    MGTUNE_TRY(mover_->convert(singles, doubles.data(), DType::f64, outputs[i].data()));
    outputs[i] = std::move(doubles);
  }
  return {};
}

}  // namespace mgtune
