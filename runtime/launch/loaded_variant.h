// LoadedVariant: a variant that is bound, built and loaded on a device, with its launch-time
// expressions compiled to bytecode. The tuner measures it and plans launch it: there is no other
// way from a variant to a launch.
//
// Immutable after load(): any number of threads may launch it at once, each with its own workspace.
// If the design has tensors in constant memory, each launch first copies them there, in the order
// of its stream. The variant has only one such memory. So launches that may overlap, on different
// streams, must pass the same content for these tensors. launch() never compiles, allocates,
// synchronizes, or locks anything but the device.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "build/build.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "device/shared_modules.h"
#include "expression/interval.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// The alignment of every workspace, in bytes.
inline constexpr std::int64_t kWorkspaceAlignment = 256;

// The arguments of one launch, in the order that the operator declares.
struct LaunchArguments {
  std::span<const std::int64_t> dims;  // the dynamic and hint dims
  std::span<void* const> tensors;      // device pointers; null for an absent optional tensor
  std::span<const ScalarValue> scalars;
  void* workspace = nullptr;  // workspace_size(), kWorkspaceAlignment; may be null if that is 0
  Stream stream = nullptr;
};

class LoadedVariant {
 public:
  // `device` and the operator must outlive the object. launch_failed if the sizes of the kernels'
  // parameters differ from the declared args; unsupported if the device lacks what a launch needs.
  static Result<std::unique_ptr<LoadedVariant>> load(Device& device, const Binding& binding,
                                                     const Variant& variant, const Build& build);

  // The same, but all variants that load this build from `modules` share one module. `modules` must
  // outlive the object. Any number of threads may load at once; the device is locked meanwhile.
  static Result<std::unique_ptr<LoadedVariant>> load(SharedModules& modules, const Binding& binding,
                                                     const Variant& variant, const Build& build);
  ~LoadedVariant();
  LoadedVariant(const LoadedVariant&) = delete;
  LoadedVariant& operator=(const LoadedVariant&) = delete;

  const Variant& variant() const;
  const std::string& text() const;  // variant_text()
  const std::string& build_sha256() const;

  // Whether the constraints and the design's alignment hold for this launch, and each of its
  // kernels has a geometry, tensor maps and arguments that a device can take. If the span of
  // tensors is empty, only the parts that depend on the dims are checked.
  bool serves(const LaunchArguments& arguments) const;

  // Why serves() is false, as unsupported or invalid_argument; ok if it is true.
  Status refusal(const LaunchArguments& arguments) const;

  // Design::estimate for these dims, or kNoEstimate.
  std::int64_t estimate(std::span<const std::int64_t> dims) const;

  // Bytes of workspace for these dims. The part that must start out zeroed is at the front.
  struct WorkspaceSize {
    std::int64_t bytes = 0;
    std::int64_t zeroed_bytes = 0;  // at the front
  };
  Result<WorkspaceSize> workspace_size(std::span<const std::int64_t> dims) const;

  // For any dims in these intervals: LaunchProgram::bound_workspace(), dims_that_size_workspace().
  std::optional<WorkspaceSize> bound_workspace(std::span<const Interval> dims) const;
  std::vector<bool> dims_that_size_workspace() const;

  // Enqueues all launches of the variant on the stream, in order. invalid_argument for a null
  // tensor that is not optional (an empty one may be null), and for a tensor whose presence differs
  // from the binding's. If serves() is false, the failure is that of refusal(). In these cases
  // nothing was enqueued. If the device refuses a kernel after the first, the part of the workspace
  // that must stay zeroed is zeroed again.
  Status launch(const LaunchArguments& arguments) const;

  // launch() for a workspace that serves many shapes. Its first `reserved->zeroed_bytes` bytes are
  // kept for buffers that stay zeroed, even if these dims need fewer. If serves() is false, or the
  // launch needs more than is reserved, nothing is launched and the result is false. nullopt: the
  // workspace is for these dims alone.
  Result<bool> try_launch(const LaunchArguments& arguments,
                          std::optional<WorkspaceSize> reserved) const;

 private:
  struct State;
  explicit LoadedVariant(std::unique_ptr<State> state);
  static Result<std::unique_ptr<LoadedVariant>> assemble(Device& device, const Binding& binding,
                                                         const Variant& variant, const Build& build,
                                                         std::shared_ptr<const Module> module);

  std::unique_ptr<State> state_;
};

// SHA-256 over everything outside the binary that changes a launch: the design's launch text and
// the parameter values. Part of every result's key.
std::string launch_hash(const Operator& op, const Variant& variant);

}  // namespace mgtune
