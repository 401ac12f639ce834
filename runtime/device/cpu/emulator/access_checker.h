// AccessChecker: finds accesses of a kernel that leave a buffer or a shared array, exactly to the
// byte, and reads of memory that nothing has written. The inaccessible page behind a buffer finds
// only accesses that are far enough out, and cannot name the tensor behind a guard band.
//
// It sees the accesses that race_hooks.cpp sees: those of kernels of arch "cpu-race". It does not
// judge an access that is near no buffer and no array. Such an access is on a stack, or the
// processor faults.
//
// A read counts as unwritten only if the checker saw no write to any of its bytes, and all of them
// still have their value from before the launch. The value is compared because a copy by memcpy has
// no hook. There is one object per worker. Not thread-safe; the bytes of WatchedBuffer::unwritten
// may be written by all workers at once, each to the same value.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "fault.h"
#include "shared_memory.h"

namespace mgtune {

// A buffer of the device as the checker sees it. The strings and bytes belong to DeviceMemory.
struct WatchedBuffer {
  const unsigned char* mapping = nullptr;  // with the bytes around it that are no other buffer's
  std::size_t mapping_bytes = 0;
  const unsigned char* begin = nullptr;  // the bytes that kernels may access
  std::size_t bytes = 0;
  const char* name = nullptr;
  std::size_t element_bytes = 1;
  unsigned char* unwritten = nullptr;  // one per byte: 0 if it was written. May be null
  unsigned char unwritten_value = 0;   // of the bytes that nothing has written
};

class AccessChecker {
 public:
  // Nothing is watched before the first call. It allocates memory here, because a fiber must not.
  // The arguments, and everything that they point to, must live until the block has ended.
  void start_block(std::span<const WatchedBuffer> buffers, const SharedLayout& layout,
                   const SharedMemory& shared, bool refuse_unwritten_reads);

  std::optional<BadAccess> access(const void* address, std::size_t bytes, bool writes,
                                  const void* return_address);

 private:
  std::span<const WatchedBuffer> buffers_;
  std::vector<WatchedBuffer> arrays_;     // the shared arrays, and last the dynamic memory
  std::vector<unsigned char> unwritten_;  // of the arrays
  bool refuse_unwritten_reads_ = false;
};

}  // namespace mgtune
