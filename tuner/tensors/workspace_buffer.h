// WorkspaceBuffer: the scratch memory that the launches of one variant on a problem share. It
// includes the bytes that must be zero before the first launch and that every launch must leave
// zero. Its Placement says whether it has guard bands (tensors/guarded_buffer.h). Move-only. Not
// thread-safe; the device must outlive it.

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

  // Allocates the memory and fills it with the bytes 0xff, except for the part that must be zero.
  // `set_bytes` is the size of the problem's tensors. If allocating fails: unsupported if the
  // workspace and these tensors together are larger than the device's memory, otherwise the failure
  // of the allocation, for example because other programs use the memory now.
  //
  // On a GPU it reuses the memory of `last`, which is on the same device, if this memory is large
  // enough: allocating and freeing a few MiB takes the driver longer than the launches of most
  // variants. Otherwise the memory of `last` is freed first. The cpu device detects accesses past
  // the end of an allocation, so there each workspace gets its own memory.
  static Result<WorkspaceBuffer> allocate(Device& device, const LoadedVariant::WorkspaceSize& size,
                                          std::int64_t set_bytes, Placement placement,
                                          WorkspaceBuffer last);

  void* data() const { return buffer_.data(); }

  // Describes bytes that launches have changed but must not change, for example "workspace: written
  // past its end, ...". "" if there are none.
  Result<std::string> damage() const;

 private:
  static Result<GuardedBuffer> memory(Device& device, std::size_t bytes, Placement placement,
                                      WorkspaceBuffer last);

  Device* device_ = nullptr;
  GuardedBuffer buffer_;
  LoadedVariant::WorkspaceSize size_;
};

}  // namespace mgtune
