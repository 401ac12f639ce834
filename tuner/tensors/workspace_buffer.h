// WorkspaceBuffer: the scratch memory that the launches of one variant on a problem share. It
// includes the bytes that must be zeroed once and that launches must leave zeroed. It has guard
// bands or not (tensors/guarded_buffer.h). Move-only. Not thread-safe; the device must outlive it.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "device/device.h"
#include "launch/loaded_variant.h"
#include "tensors/guarded_buffer.h"

namespace mgtune {

class WorkspaceBuffer {
 public:
  WorkspaceBuffer() = default;  // for a variant that needs none

  // Poisoned, except for the bytes that must be zero. unsupported if the device's memory is too
  // small for it and for `set_bytes` of tensors. environment if it does not fit now.
  static Result<WorkspaceBuffer> allocate(Device& device, const LoadedVariant::WorkspaceSize& size,
                                          std::int64_t set_bytes, Placement placement);

  void* data() const { return buffer_.data(); }

  // What launches changed but must not change: "workspace: written past its end, ..."; "" for
  // nothing.
  Result<std::string> damage() const;

 private:
  Device* device_ = nullptr;
  GuardedBuffer buffer_;
  LoadedVariant::WorkspaceSize size_;
};

}  // namespace mgtune
