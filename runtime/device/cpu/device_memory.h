// DeviceMemory: the global memory of the cpu device. Each buffer is its own mapping that ends at an
// inaccessible page, so that a kernel faults on the first 16-byte unit beyond the buffer. Under
// AddressSanitizer a buffer is exact to the byte instead. New memory is filled with 0xff bytes
// (NaN). Thread-safe. describe() is for signal handlers and takes no lock.

#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "core/status.h"
#include "signal_text.h"

namespace mgtune {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // environment if there is not enough memory.
  Result<void*> allocate(std::size_t bytes);
  void free(void* memory);

  // "byte 1024 of a buffer of 1024 bytes", or the address if no buffer is near.
  void describe(const void* address, SignalText& text) const;

 private:
  struct Allocation {
    std::byte* begin;
    std::size_t bytes;
    std::byte* mapping;  // with its inaccessible first and last page
    std::size_t mapping_bytes;
  };
  static Result<Allocation> map(std::size_t bytes);
  static void unmap(const Allocation& allocation);

  std::mutex mutex_;
  std::vector<Allocation> allocations_;
};

}  // namespace mgtune
