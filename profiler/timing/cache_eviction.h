// CacheEviction: removes all data of earlier work from a GPU's L2 cache, by reading. A memset would
// fill the L2 with lines that must be written back, and the kernel that is timed next would pay for
// that: 24.8 instead of 21.0 us for RMSNorm 4096 x 4096 in bf16 on an H200.
//
// One thread; the device must outlive it.

#pragma once

#include <memory>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

class CacheEviction {
 public:
  // Allocates three times the L2.
  static Result<std::unique_ptr<CacheEviction>> make(Device& device, Builder& builder);

  Status launch(Stream stream) const;  // one kernel

 private:
  explicit CacheEviction(Device& device) : device_(device) {}

  Device& device_;
  std::unique_ptr<Module> module_;
  const Kernel* kernel_ = nullptr;
  Buffer memory_, sums_;
  std::int64_t vectors_ = 0;
};

}  // namespace mgtune
