// HostMemoryDevice: a device whose memory is the host's; the base of devices for tests.
// MemoryDevice: plain memory of this process that runs nothing, for tests of what is done with
// buffers. Header-only; one thread.

#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "device/device.h"

namespace mgtune {

class HostMemoryDevice : public Device {
 public:
  Status copy_to_device(void* device, const void* host, std::size_t bytes) override {
    std::memcpy(device, host, bytes);
    return {};
  }
  Status copy_to_host(void* host, const void* device, std::size_t bytes) override {
    std::memcpy(host, device, bytes);
    return {};
  }
  Status fill_bytes(void* device, unsigned char value, std::size_t bytes, Stream) override {
    std::memset(device, value, bytes);
    return {};
  }
  Status copy_on_device(void* to, const void* from, std::size_t bytes, Stream) override {
    std::memmove(to, from, bytes);
    return {};
  }
  Status synchronize(Stream) override { return {}; }
};

class MemoryDevice final : public HostMemoryDevice {
 public:
  const DeviceInfo& info() const override { return info_; }
  int allocations() const { return static_cast<int>(bytes_.size()); }  // alive now
  // Of the allocation that starts there; 0 where none does.
  std::size_t bytes_at(const void* memory) const {
    const auto found = bytes_.find(memory);
    return found == bytes_.end() ? 0 : found->second;
  }
  std::size_t largest_allocation = 1 << 20;

  Result<void*> allocate(std::size_t bytes) override {
    if (bytes > largest_allocation) return environment_error("out of memory");
    void* const memory = std::malloc(bytes);
    bytes_[memory] = bytes;
    return memory;
  }
  void free(void* memory) override {
    bytes_.erase(memory);
    std::free(memory);
  }

  Result<std::unique_ptr<Module>> load(const Build&) override { return refused(); }
  Result<std::int64_t> blocks_per_sm(const Kernel&, std::uint32_t, std::uint32_t) override {
    return refused();
  }
  Result<std::int64_t> max_clusters(const KernelLaunch&) override { return refused(); }
  Status launch(const KernelLaunch&) override { return refused(); }
  Status encode_tensor_map(const TensorMapRequest&, EncodedTensorMap&) const override {
    return refused();
  }
  Status set_thread_order(ThreadOrder) override { return refused(); }

 private:
  static Status refused() { return unsupported("this device is memory alone"); }

  DeviceInfo info_;
  std::map<const void*, std::size_t> bytes_;
};

}  // namespace mgtune
