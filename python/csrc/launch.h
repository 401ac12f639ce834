// Launches of a plan on the current stream of a device.
#pragma once

#include <cstdint>
#include <span>

#include "plans.h"
#include "tensor.h"

namespace mgtune::torch {

// Makes a device the current one, and the one before it again at the end.
class DeviceScope {
 public:
  explicit DeviceScope(DeviceKey device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  void* stream() const { return stream_; }  // PyTorch's current stream; null on the cpu device

 private:
  DeviceGuardHandle guard_ = nullptr;
  void* stream_ = nullptr;
};

// Launches a plan of the device. The arrays are those of mgr_launch. A workspace comes from
// PyTorch's allocator and goes back to it at once: the allocator gives it to later work on the same
// stream only. Throws std::runtime_error with libmgruntime's message.
void launch(const mgr_plan_t* plan, DeviceKey device, const DeviceScope& scope,
            std::span<const std::int64_t> dims, std::span<void* const> tensors,
            std::span<const double> scalars);

// The same with the plan of a key.
void launch(const PlanKey& key, const DeviceScope& scope, std::span<const std::int64_t> dims,
            std::span<void* const> tensors, std::span<const double> scalars);

}  // namespace mgtune::torch
