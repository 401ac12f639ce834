// LaunchProgram: the computations that remain when a loaded variant is launched. compile()
// evaluates everything that is known after loading. Bytecode is left only for expressions with a
// dynamic or hint dim.
//
// A launch evaluates into a LaunchFrame on the caller's stack: begin(), admits(),
// place_workspace(), then geometry() and encode() for each kernel. None of them allocates, except
// to describe a failure. Immutable after compile(): any number of threads may evaluate, each with
// its own frame.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/operator.h"
#include "family/variant.h"
#include "launch/launch_dims.h"
#include "launch/loaded_variant.h"

namespace mgtune {

// The room in a frame. compile() refuses designs that need more.
inline constexpr std::size_t kMaxSlots = 192;
inline constexpr std::size_t kMaxBuffers = 16;    // of the workspace
inline constexpr std::size_t kMaxTensorMaps = 8;  // per kernel

// The values of one launch. About 4 KiB, deliberately not initialized.
struct LaunchFrame {
  std::array<std::int64_t, kMaxSlots> slots;
  std::array<std::int64_t, kMaxBuffers> buffer_bytes;        // 0: absent
  std::array<void*, kMaxBuffers> buffers;                    // null: absent
  std::array<std::int64_t, kMaxConstants> constant_bytes;    // 0: the tensor is absent or empty
  std::array<std::uint64_t, kMaxArguments> values;           // of one kernel's arguments
  std::array<void*, kMaxArguments> pointers;                 // to each of `values`, or a tensor map
  std::array<EncodedTensorMap, kMaxTensorMaps> tensor_maps;  // of one kernel
};

// An expression, evaluated as far as possible after loading.
class LaunchValue {
 public:
  LaunchValue() = default;
  explicit LaunchValue(std::int64_t constant) : constant_(constant) {}
  static Result<LaunchValue> fold(const Expression& expression, const Slots& loaded);

  bool is_constant() const { return expression_ == nullptr; }
  std::int64_t constant() const { return constant_; }

  Status evaluate(const LaunchFrame& frame, std::int64_t& value) const {
    if (expression_ == nullptr) {
      value = constant_;
      return {};
    }
    Result<std::int64_t> result = expression_->evaluate(frame.slots);
    if (!result.ok()) return std::move(result).take_status();
    value = *result;
    return {};
  }

  // An interval with all possible values if each slot lies in its interval (Expression::bounds()).
  Interval bounds(std::span<const Interval> slots) const {
    return is_constant() ? Interval::only(constant_) : expression_->bounds(slots);
  }
  std::span<const int> slots() const {
    return is_constant() ? std::span<const int>() : expression_->slots();
  }

 private:
  const Expression* expression_ = nullptr;  // of the operator
  std::int64_t constant_ = 0;
};

class LaunchProgram {
 public:
  // `loaded` has the variant's slots with build.* and the lets of stages compile and load. The
  // operator must outlive the program. `constants` has the bytes of each variable of the design's
  // constants. unsupported for more names, arguments, buffers or tensor maps than a frame has room
  // for, for tensor maps on a device before sm_90, and for a tensor that its constant cannot hold.
  static Result<LaunchProgram> compile(const Operator& op, const Variant& variant,
                                       const DeviceLimits& limits, const Slots& loaded,
                                       const std::vector<std::size_t>& constants = {});

  // Writes dims and defaults into the frame. invalid_argument for dims that the operator refuses.
  Status begin(std::span<const std::int64_t> dims, LaunchFrame& frame) const;

  // Design::estimate for these dims, or kNoEstimate. Evaluates only the lets that it needs. Changes
  // the frame, so begin() has to follow.
  std::int64_t estimate(std::span<const std::int64_t> dims, LaunchFrame& frame) const;

  // invalid_argument if tensors or scalars are not those that the binding declares.
  Status check_arguments(const LaunchArguments& arguments, const LaunchFrame& frame) const;

  // Evaluates the lets and the sizes of the tensors in constant memory. True if these tensors fit
  // there, and the constraints and alignments hold. If not, `reason` becomes unsupported with the
  // reason. It may be null, because a message allocates.
  bool admits(std::span<void* const> tensors, LaunchFrame& frame, Status* reason = nullptr) const;

  // After admits(). Sizes are rounded up to kWorkspaceAlignment per buffer.
  Result<LoadedVariant::WorkspaceSize> size_workspace(LaunchFrame& frame) const;
  // The same for all launches whose dims lie in these intervals, one for each dim. An empty
  // interval means that the dim is always at its default. No launch that is served needs a larger
  // zeroed part or a larger rest. nullopt: none is served.
  std::optional<LoadedVariant::WorkspaceSize> bound_workspace(std::span<const Interval> dims) const;
  // Whether the sizes depend on each dim. Dims that only constraints use do not count.
  std::vector<bool> dims_that_size_workspace() const;
  // Buffers with `zero: once` are at the front, the others from `zeroed_bytes` on.
  void place_workspace(void* base, std::int64_t zeroed_bytes, LaunchFrame& frame) const;
  std::size_t buffers() const { return buffers_.size(); }
  bool zeroed_each_launch(std::size_t buffer) const {
    return buffers_[buffer].zero == Zero::each_launch;
  }

  // The kernels that may run, without launches whose `when` is known to be false.
  std::size_t kernels() const { return kernels_.size(); }
  std::size_t launch_index(std::size_t kernel) const { return kernels_[kernel].launch; }
  std::vector<std::size_t> argument_bytes(std::size_t kernel) const;

  // Fills all of `launch` except kernel, args and stream. Returns false if the kernel is not
  // launched, because `when` is false or the grid has a zero.
  Result<bool> geometry(std::size_t kernel, const LaunchFrame& frame, KernelLaunch& launch) const;

  // The tensor maps of a kernel. The device encodes them into the frame before encode().
  std::size_t tensor_maps(std::size_t kernel) const { return kernels_[kernel].maps.size(); }
  Status tensor_map(std::size_t kernel, std::size_t map, const LaunchArguments& arguments,
                    const LaunchFrame& frame, TensorMapRequest& request) const;

  // Writes the arguments' values and pointers into the frame. For a launch without tensors and
  // scalars, it only evaluates the values; the same is true of tensor_map().
  Status encode(std::size_t kernel, const LaunchArguments& arguments, LaunchFrame& frame) const;

 private:
  struct TensorRule {
    LaunchValue present;
    std::int64_t align;  // bytes that every caller guarantees
  };
  struct AlignmentRule {
    int tensor;
    LaunchValue bytes;
  };
  struct ConstantRule {
    std::size_t tensor;
    std::int64_t element_bytes, capacity;
    std::vector<LaunchValue> shape;
  };
  struct BufferRule {
    LaunchValue present;
    std::int64_t element_bytes;
    std::vector<LaunchValue> shape;
    Zero zero;
  };
  struct ArgumentRule {
    Argument::Kind kind;
    std::size_t index;
    DType dtype;
    LaunchValue value;
  };
  struct MapRule {
    std::size_t tensor;
    DType dtype;
    TensorMap::Swizzle swizzle;
    TensorMap::L2 l2;
    std::vector<LaunchValue> extent, stride, box;
  };
  struct KernelRule {
    std::size_t launch;
    LaunchValue when, shared, cooperative, pdl;
    std::array<LaunchValue, 3> grid, block, cluster;
    std::vector<ArgumentRule> args;
    std::vector<MapRule> maps;
  };

  LaunchProgram(const Operator& op, const Design& design, const DeviceLimits& limits, Slots loaded)
      : op_(&op), design_(&design), limits_(limits), loaded_(std::move(loaded)), dims_(op) {}
  Status compile_estimate();
  // Marks the slots of the expressions that a launch evaluates, without the lets.
  void mark_what_launches_read(std::vector<bool>& slots) const;
  // Marks the slots that the marked lets read.
  void mark_what_lets_read(std::vector<bool>& slots) const;
  Status compile_tensors();
  Status compile_buffers();
  Status compile_constants(const std::vector<std::size_t>& bytes);
  Status compile_kernel(std::size_t launch);
  Result<MapRule> compile_map(const TensorMap& map) const;
  Result<std::vector<LaunchValue>> fold_all(const std::vector<Expression>& from) const;
  Result<ArgumentRule> compile_argument(const Argument& argument) const;
  Result<LaunchValue> fold(const std::optional<Expression>& expression,
                           std::int64_t otherwise) const;
  Status fold_extents(const std::vector<Expression>& from, std::array<LaunchValue, 3>& to) const;
  // The slots of all launches whose dims lie in the intervals. False if no launch is served.
  bool bound_slots(std::span<const Interval> dims, std::vector<Interval>& slots) const;
  Status size_constant(std::size_t constant, LaunchFrame& frame) const;
  Status check_null(std::size_t tensor, const LaunchFrame& frame) const;
  Status check_geometry(const KernelRule& rule, const KernelLaunch& launch) const;

  const Operator* op_;
  const Design* design_;
  DeviceLimits limits_;
  Slots loaded_;
  LaunchDims dims_;
  std::vector<const Expression*> op_constraints_, constraints_;  // of stages after compile
  std::vector<const Let*> lets_;  // of stage launch, without those that only the estimate needs
  std::optional<LaunchValue> estimate_;
  std::vector<const Let*> estimate_lets_;  // those that the estimate needs
  std::vector<TensorRule> tensors_;
  std::vector<AlignmentRule> alignments_;
  std::vector<ConstantRule> constants_;
  std::vector<BufferRule> buffers_;
  std::vector<KernelRule> kernels_;
};

}  // namespace mgtune
