// DeviceMemory: the global memory of the cpu device. Each buffer is its own mapping that ends at an
// inaccessible page, so that a kernel faults on the first 16-byte unit beyond the buffer. Under
// AddressSanitizer a buffer is exact to the byte instead. New memory is filled with 0xff bytes
// (NaN). Thread-safe. describe() is for signal handlers and takes no lock.

#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "access_checker.h"
#include "core/status.h"
#include "device/device.h"
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

  // As Device::label_memory() and Device::mark_unwritten().
  void label(const void* memory, std::size_t bytes, const MemoryLabel& label);
  void mark_unwritten(const void* memory, std::size_t bytes);
  void mark_written(const void* memory, std::size_t bytes);

  // All buffers, for a launch whose accesses are checked. Valid until one of them is freed or
  // labelled.
  std::vector<WatchedBuffer> watched() const;

  // "element 1024 of x, which has 1024 elements", "byte 64 of a buffer of 64 bytes" if the buffer
  // has no label, or the address if no buffer is near.
  void describe(const void* address, SignalText& text) const;

 private:
  struct Allocation {
    std::byte* begin;
    std::size_t bytes;
    std::byte* mapping;  // with its inaccessible first and last page
    std::size_t mapping_bytes;
    // The bytes that the label names; without a label, all bytes.
    std::byte* labelled = begin;
    std::size_t labelled_bytes = bytes;
    MemoryLabel label = {};
    // One value per labelled byte: 0 if the byte was written. Empty if all bytes were written.
    std::vector<unsigned char> unwritten = {};
  };
  Allocation* around(const void* memory);
  static Result<Allocation> map(std::size_t bytes);
  static void unmap(const Allocation& allocation);

  mutable std::mutex mutex_;
  std::vector<Allocation> allocations_;
};

}  // namespace mgtune
