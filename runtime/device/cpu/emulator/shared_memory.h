// Shared memory of the block that a worker runs: an arena for the static arrays of a module, and an
// exact allocation for the dynamic part. Every block finds both filled with 0xff bytes, so that a
// value that is read before it was written is a NaN.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune {

// The places of a module's static shared arrays in the arena. Between them are gaps of at least 64
// bytes, which AddressSanitizer guards. The layout is filled while the module loads. After that any
// number of threads may read it.
class SharedLayout {
 public:
  struct Array {
    std::size_t offset = 0, bytes = 0;
    std::size_t element_bytes = 1;
    std::string name = {};  // "values"
  };
  // Gives the array its offset, which is the result.
  std::size_t add(Array array, std::size_t alignment);

  const std::vector<Array>& arrays() const { return arrays_; }
  std::size_t bytes() const { return end_; }                // of the arena, gaps included
  std::size_t array_bytes() const { return array_bytes_; }  // of the arrays alone

 private:
  std::vector<Array> arrays_;
  std::size_t end_ = 64, array_bytes_ = 0;
};

// One per worker; not thread-safe.
class SharedMemory {
 public:
  // Prepares the memory for a block that starts. launch_failed if there is no memory.
  Status reset(const SharedLayout& layout, std::size_t dynamic_bytes);

  // Bytes behind the dynamic part that belong to nothing else. Under AddressSanitizer, which guards
  // the end itself, the allocation is exact, and these bytes are the smallest of its red zones.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kGapBehindDynamic = 16;
  static constexpr std::size_t kAllocatedGap = 0;
#else
  static constexpr std::size_t kGapBehindDynamic = 64;
  static constexpr std::size_t kAllocatedGap = kGapBehindDynamic;
#endif

  std::span<unsigned char> arena() const { return {arena_.get(), arena_bytes_}; }
  std::span<unsigned char> dynamic() const { return {dynamic_.get(), dynamic_bytes_}; }

 private:
  struct Free {
    void operator()(unsigned char* memory) const;
  };
  using Memory = std::unique_ptr<unsigned char, Free>;
  static Memory allocate(std::size_t bytes);

  Memory arena_, dynamic_;
  std::size_t arena_bytes_ = 0, dynamic_bytes_ = 0;
};

}  // namespace mgtune
