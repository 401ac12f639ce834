// LoadedVariant: a variant bound, built and loaded on a device, its launch-time expressions
// compiled to bytecode. The tuner measures it and plans launch it: this is the one path from
// variant to launch.
//
// Immutable after load(): any number of threads may launch it at once, each with its own workspace.
// launch() never compiles, allocates, locks (beyond the device's own) or synchronizes.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "build/build.h"
#include "core/scalar_value.h"
#include "core/status.h"
#include "device/device.h"
#include "device/shared_modules.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// What every workspace is aligned to, in bytes.
inline constexpr std::int64_t kWorkspaceAlignment = 256;

// What one launch takes, everything in the operator's declared order.
struct LaunchArguments {
  std::span<const std::int64_t> dims;  // the dynamic and hint dims
  std::span<void* const> tensors;      // device pointers; null for an absent optional tensor
  std::span<const ScalarValue> scalars;
  void* workspace = nullptr;  // workspace_size(), kWorkspaceAlignment; may be null when that is 0
  Stream stream = nullptr;
};

class LoadedVariant {
 public:
  // `device` and the operator outlive the object. launch_failed when the kernels' own parameter
  // sizes differ from the declared args; unsupported when a launch needs what the device lacks.
  static Result<std::unique_ptr<LoadedVariant>> load(Device& device, const Binding& binding,
                                                     const Variant& variant, const Build& build);

  // The same with a module that all variants share which load this build here. `modules` outlives
  // the object. Any number of threads may load at once; the device is locked meanwhile.
  static Result<std::unique_ptr<LoadedVariant>> load(SharedModules& modules, const Binding& binding,
                                                     const Variant& variant, const Build& build);
  ~LoadedVariant();
  LoadedVariant(const LoadedVariant&) = delete;
  LoadedVariant& operator=(const LoadedVariant&) = delete;

  const Variant& variant() const;
  const std::string& text() const;  // variant_text()
  const std::string& build_sha256() const;

  // Whether constraints and the design's alignment hold for this launch. With no tensors at all
  // (an empty span) only the dims are looked at.
  bool serves(const LaunchArguments& arguments) const;

  // Why serves() is false, as unsupported; ok when it is true.
  Status refusal(const LaunchArguments& arguments) const;

  // Bytes of workspace for these dims, its part that must start out zeroed first.
  struct WorkspaceSize {
    std::int64_t bytes = 0;
    std::int64_t zeroed_bytes = 0;  // at the front
  };
  Result<WorkspaceSize> workspace_size(std::span<const std::int64_t> dims) const;

  // All launches of the variant, in order, on the stream. invalid_argument for a null tensor that
  // is not optional (an empty one may be null) or one whose presence differs from the binding's;
  // unsupported where serves() is false.
  Status launch(const LaunchArguments& arguments) const;

  // launch() for a workspace that serves many shapes: its first `reserved.zeroed_bytes` are kept
  // for buffers that stay zeroed, whatever these dims need. False, and nothing launched, where
  // serves() is false or the launch needs more than is reserved.
  Result<bool> try_launch(const LaunchArguments& arguments, const WorkspaceSize& reserved) const;

 private:
  struct Parts;
  explicit LoadedVariant(std::unique_ptr<Parts> parts);
  static Result<std::unique_ptr<LoadedVariant>> assemble(Device& device, const Binding& binding,
                                                         const Variant& variant, const Build& build,
                                                         std::shared_ptr<const Module> module);
  Result<bool> run(const LaunchArguments& arguments, const WorkspaceSize* reserved) const;

  std::unique_ptr<Parts> parts_;
};

// SHA-256 over what shapes a launch outside the binary: the design's launch text and the parameter
// values. Part of every result's key.
std::string launch_hash(const Operator& op, const Variant& variant);

}  // namespace mgtune
