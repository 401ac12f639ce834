// The part of LaunchProgram that runs at every launch.

#include "launch/launch_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace mgtune {
namespace {

constexpr std::array<std::int64_t, 3> kMaxGrid = {2147483647, 65535, 65535};
constexpr std::int64_t kMaxThreads = 1024;

std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

bool is_aligned(const void* pointer, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes) == 0;
}

}  // namespace

Status LaunchProgram::begin(std::span<const std::int64_t> dims, LaunchFrame& frame) const {
  std::copy(loaded_.begin(), loaded_.end(), frame.slots.begin());
  MGTUNE_TRY(dims_.resolve(dims, frame.slots));
  for (const Expression* constraint : op_constraints_) {
    MGTUNE_ASSIGN(const std::int64_t holds, constraint->evaluate(frame.slots));
    if (holds == 0) {
      return invalid_argument(fmt::format("{} {}: the constraint {} does not hold",
                                          op_->full_name(), dims_.text(frame.slots),
                                          constraint->text()));
    }
  }
  return {};
}

std::int64_t LaunchProgram::estimate(std::span<const std::int64_t> dims, LaunchFrame& frame) const {
  if (!estimate_) return kNoEstimate;
  std::copy(loaded_.begin(), loaded_.end(), frame.slots.begin());
  if (!dims_.resolve(dims, frame.slots).ok()) return kNoEstimate;
  for (const Let* let : estimate_lets_) {
    const Result<std::int64_t> value = let->value.evaluate(frame.slots);
    if (!value.ok()) return kNoEstimate;
    frame.slots[std::size_t(let->slot)] = *value;
  }
  std::int64_t estimate = 0;
  return estimate_->evaluate(frame, estimate).ok() ? estimate : kNoEstimate;
}

bool LaunchProgram::admits(std::span<void* const> tensors, LaunchFrame& frame,
                           Status* reason) const {
  const auto refuse = [&](const auto& message) {
    if (reason != nullptr) *reason = unsupported(message());
    return false;
  };
  for (const Let* let : lets_) {
    const Result<std::int64_t> value = let->value.evaluate(frame.slots);
    if (!value.ok()) return refuse([&] { return value.status().message(); });
    frame.slots[std::size_t(let->slot)] = *value;
  }
  for (const Expression* constraint : constraints_) {
    const Result<std::int64_t> holds = constraint->evaluate(frame.slots);
    if (!holds.ok()) return refuse([&] { return holds.status().message(); });
    if (*holds != 0) continue;
    return refuse(
        [&] { return fmt::format("the constraint {} does not hold", constraint->text()); });
  }
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    const Status sized = size_constant(i, frame);
    if (!sized.ok()) return refuse([&] { return sized.message(); });
  }
  if (tensors.empty()) return true;
  for (const AlignmentRule& rule : alignments_) {
    const auto tensor = std::size_t(rule.tensor);
    std::int64_t bytes = 0;
    const Status evaluated = rule.bytes.evaluate(frame, bytes);
    if (!evaluated.ok()) return refuse([&] { return evaluated.message(); });
    if (bytes > 0 && is_aligned(tensors[tensor], bytes)) continue;
    return refuse([&] {
      return fmt::format("tensor '{}' is not aligned to {} bytes", op_->tensors[tensor].name,
                         bytes);
    });
  }
  return true;
}

Status LaunchProgram::size_constant(std::size_t constant, LaunchFrame& frame) const {
  const ConstantRule& rule = constants_[constant];
  std::int64_t bytes = 0;
  MGTUNE_TRY(tensors_[rule.tensor].present.evaluate(frame, bytes));
  if (bytes != 0) bytes = rule.element_bytes;
  for (const LaunchValue& value : rule.shape) {
    std::int64_t extent = 0;
    MGTUNE_TRY(value.evaluate(frame, extent));
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) bytes = rule.capacity + 1;
  }
  frame.constant_bytes[constant] = bytes;
  if (bytes <= rule.capacity) return {};
  return unsupported(fmt::format(
      "tensor '{}' does not fit into the constant {}: it has {} bytes, and the variable has {}",
      op_->tensors[rule.tensor].name, design_->constants[constant].symbol, bytes, rule.capacity));
}

Status LaunchProgram::check_arguments(const LaunchArguments& arguments,
                                      const LaunchFrame& frame) const {
  if (arguments.tensors.size() != tensors_.size() ||
      arguments.scalars.size() != op_->scalars.size()) {
    return invalid_argument(fmt::format(
        "{}: {} tensors and {} scalars passed, {} and {} declared", op_->full_name(),
        arguments.tensors.size(), arguments.scalars.size(), tensors_.size(), op_->scalars.size()));
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const void* pointer = arguments.tensors[i];
    std::int64_t present = 0;
    MGTUNE_TRY(tensors_[i].present.evaluate(frame, present));
    if (pointer == nullptr) {
      if (present != 0) MGTUNE_TRY(check_null(i, frame));
    } else if (present == 0) {
      return invalid_argument(fmt::format("{}: tensor '{}' is passed, but the plan is without it",
                                          op_->full_name(), op_->tensors[i].name));
    } else if (!is_aligned(pointer, tensors_[i].align)) {
      return invalid_argument(fmt::format("{}: tensor '{}' is not aligned to {} bytes",
                                          op_->full_name(), op_->tensors[i].name,
                                          tensors_[i].align));
    }
  }
  return {};
}

// An empty tensor may be null, because frameworks give out no memory for it.
Status LaunchProgram::check_null(std::size_t index, const LaunchFrame& frame) const {
  const Tensor& tensor = op_->tensors[index];
  for (const Expression& extent : tensor.shape) {
    MGTUNE_ASSIGN(const std::int64_t size, extent.evaluate(frame.slots));
    if (size == 0) return {};
  }
  return invalid_argument(fmt::format("{}: tensor '{}' is null", op_->full_name(), tensor.name));
}

Result<LoadedVariant::WorkspaceSize> LaunchProgram::size_workspace(LaunchFrame& frame) const {
  LoadedVariant::WorkspaceSize size;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const BufferRule& rule = buffers_[i];
    std::int64_t bytes = 0;
    MGTUNE_TRY(rule.present.evaluate(frame, bytes));
    if (bytes != 0) {
      bytes = rule.element_bytes;
      for (const LaunchValue& value : rule.shape) {
        std::int64_t extent = 0;
        MGTUNE_TRY(value.evaluate(frame, extent));
        // A quarter of the range leaves room for rounding up and for adding 16 buffers.
        if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) ||
            bytes > std::numeric_limits<std::int64_t>::max() / 32) {
          return invalid_argument(fmt::format("{} {}: workspace '{}' has an impossible size",
                                              op_->full_name(), dims_.text(frame.slots),
                                              design_->workspace[i].name));
        }
      }
    }
    frame.buffer_bytes[i] = rounded_up(bytes);
    size.bytes += frame.buffer_bytes[i];
    if (rule.zero == Zero::once) size.zeroed_bytes += frame.buffer_bytes[i];
  }
  return size;
}

void LaunchProgram::place_workspace(void* base, std::int64_t zeroed_bytes,
                                    LaunchFrame& frame) const {
  auto* front = static_cast<unsigned char*>(base);
  auto* rest = base == nullptr ? nullptr : front + zeroed_bytes;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    auto*& next = buffers_[i].zero == Zero::once ? front : rest;
    frame.buffers[i] = frame.buffer_bytes[i] == 0 ? nullptr : next;
    if (next != nullptr) next += frame.buffer_bytes[i];
  }
}

Result<bool> LaunchProgram::geometry(std::size_t kernel, const LaunchFrame& frame,
                                     KernelLaunch& launch) const {
  const KernelRule& rule = kernels_[kernel];
  std::int64_t value = 0;
  MGTUNE_TRY(rule.when.evaluate(frame, value));
  if (value == 0) return false;
  std::array<std::int64_t, 3> grid{};
  for (std::size_t i = 0; i < 3; ++i) MGTUNE_TRY(rule.grid[i].evaluate(frame, grid[i]));
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid[i] < 0 || grid[i] > kMaxGrid[i]) {
      return invalid_argument(fmt::format("{} {}: kernel {} asks for a grid of {} x {} x {} blocks",
                                          op_->full_name(), dims_.text(frame.slots),
                                          design_->launches[rule.launch].kernel.name, grid[0],
                                          grid[1], grid[2]));
    }
    launch.grid[i] = static_cast<std::uint32_t>(grid[i]);
    MGTUNE_TRY(rule.block[i].evaluate(frame, value));
    launch.block[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 65536));
    MGTUNE_TRY(rule.cluster[i].evaluate(frame, value));
    launch.cluster[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 65536));
  }
  MGTUNE_TRY(rule.shared.evaluate(frame, value));
  launch.shared_bytes = static_cast<std::uint32_t>(
      value < 0 ? UINT32_MAX : std::min<std::int64_t>(value, UINT32_MAX));
  MGTUNE_TRY(rule.cooperative.evaluate(frame, value));
  launch.cooperative = value != 0;
  MGTUNE_TRY(rule.pdl.evaluate(frame, value));
  launch.pdl = value != 0;
  MGTUNE_TRY(check_geometry(rule, launch));
  return true;
}

Status LaunchProgram::check_geometry(const KernelRule& rule, const KernelLaunch& launch) const {
  const auto volume = [](const std::array<std::uint32_t, 3>& extents) {
    return std::int64_t{extents[0]} * extents[1] * extents[2];
  };
  const std::int64_t threads = volume(launch.block);
  if (threads < 1 || threads > kMaxThreads || volume(launch.cluster) < 1 ||
      launch.shared_bytes > limits_.max_shared_bytes) {
    return unsupported(fmt::format(
        "{}: kernel {} asks for blocks of {} x {} x {} threads with {} bytes of shared memory; the "
        "device has at most {} threads and {} bytes",
        op_->full_name(), design_->launches[rule.launch].kernel.name, launch.block[0],
        launch.block[1], launch.block[2], launch.shared_bytes, kMaxThreads,
        limits_.max_shared_bytes));
  }
  return {};
}

Status LaunchProgram::tensor_map(std::size_t kernel, std::size_t map,
                                 const LaunchArguments& arguments, const LaunchFrame& frame,
                                 TensorMapRequest& request) const {
  const MapRule& rule = kernels_[kernel].maps[map];
  const std::int64_t element_bytes = size_in_bytes(rule.dtype);
  request.memory = arguments.tensors.empty() ? nullptr : arguments.tensors[rule.tensor];
  request.dtype = rule.dtype;
  request.rank = static_cast<std::uint32_t>(rule.extent.size());
  request.swizzle = rule.swizzle;
  request.l2 = rule.l2;
  // Values that the driver would refuse are left to the driver. Only values that its types cannot
  // hold are checked here.
  bool fits = true;
  for (std::size_t i = 0; i < rule.extent.size(); ++i) {
    std::int64_t extent = 0;
    std::int64_t box = 0;
    std::int64_t stride = 0;
    MGTUNE_TRY(rule.extent[i].evaluate(frame, extent));
    MGTUNE_TRY(rule.box[i].evaluate(frame, box));
    if (i > 0) {
      MGTUNE_TRY(rule.stride[i - 1].evaluate(frame, stride));
      fits = fits && stride >= 0 && !__builtin_mul_overflow(stride, element_bytes, &stride);
      request.stride_bytes[i - 1] = static_cast<std::uint64_t>(stride);
    }
    fits = fits && extent > 0 && std::in_range<std::uint32_t>(box);
    request.extent[i] = static_cast<std::uint64_t>(extent);
    request.box[i] = static_cast<std::uint32_t>(box);
  }
  if (fits) return {};
  const Launch& launch = design_->launches[kernels_[kernel].launch];
  return invalid_argument(
      fmt::format("{} {}: the tensor map {} of kernel {} has an impossible size", op_->full_name(),
                  dims_.text(frame.slots), launch.tensor_maps[map].name, launch.kernel.name));
}

Status LaunchProgram::encode(std::size_t kernel, const LaunchArguments& arguments,
                             LaunchFrame& frame) const {
  const KernelRule& rule = kernels_[kernel];
  for (std::size_t i = 0; i < rule.args.size(); ++i) {
    const ArgumentRule& argument = rule.args[i];
    std::uint64_t& word = frame.values[i];
    frame.pointers[i] = &word;
    switch (argument.kind) {
      case Argument::Kind::tensor:
        if (arguments.tensors.empty()) break;
        word = reinterpret_cast<std::uintptr_t>(arguments.tensors[argument.index]);
        break;
      case Argument::Kind::workspace:
        word = reinterpret_cast<std::uintptr_t>(frame.buffers[argument.index]);
        break;
      case Argument::Kind::scalar:
        if (arguments.scalars.empty()) break;
        std::memcpy(&word, &arguments.scalars[argument.index], sizeof(word));
        break;
      case Argument::Kind::tensor_map:
        frame.pointers[i] = &frame.tensor_maps[argument.index];
        break;
      case Argument::Kind::value: {
        std::int64_t value = 0;
        MGTUNE_TRY(argument.value.evaluate(frame, value));
        ScalarValue encoded;
        if (!encode_integer(value, argument.dtype, encoded)) {
          const Launch& launch = design_->launches[rule.launch];
          return invalid_argument(fmt::format(
              "{}: argument {} of kernel {} is {} = {}, which {} cannot hold", op_->full_name(), i,
              launch.kernel.name, launch.args[i].value->text(), value, to_string(argument.dtype)));
        }
        word = std::bit_cast<std::uint64_t>(encoded);
      }
    }
  }
  return {};
}

}  // namespace mgtune
