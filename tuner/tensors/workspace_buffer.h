// WorkspaceBuffer: the scratch memory that one variant's launches on a problem share, with the
// bytes that it wants zeroed once and has to leave so. Between guard bands or without
// (check/guarded_buffer.h). Move-only. Not thread-safe; the device outlives it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensors/guarded_buffer.h"
#include "core/status.h"
#include "device/device.h"
#include "launch/loaded_variant.h"

namespace mgtune {

class WorkspaceBuffer {
 public:
  WorkspaceBuffer() = default;  // of a variant that needs none

  // Poisoned, but for what is to be zeroed. unsupported where the device's memory could not hold it
  // beside `set_bytes` of tensors; environment where it does not fit now.
  static Result<WorkspaceBuffer> allocate(Device& device, const LoadedVariant::WorkspaceSize& size,
                                          std::int64_t set_bytes, Placement placement);

  void* data() const { return buffer_ ? buffer_->data() : nullptr; }

  // What launches changed and must not have: "workspace: written past its end, ..."; "" for
  // nothing.
  Result<std::string> damage() const;

 private:
  Device* device_ = nullptr;
  std::optional<GuardedBuffer> buffer_;
  LoadedVariant::WorkspaceSize size_;
};

}  // namespace mgtune
