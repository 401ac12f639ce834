// SeenDims: which dims a plan was launched with, in a table of fixed size. No lock and no
// allocation: any number of threads may insert. Dims count by a 64-bit hash of theirs.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace mgtune {

class SeenDims {
 public:
  static constexpr std::size_t kMost = 3072;  // of kSlots: what is new is found within a few steps

  // Whether these dims are new, to exactly one of the threads that insert them at the same time;
  // false as well once the table is full.
  bool insert(std::span<const std::int64_t> dims);

  bool is_full() const { return count_.load(std::memory_order_relaxed) >= kMost; }

 private:
  static constexpr std::size_t kSlots = 4096;

  std::array<std::atomic<std::uint64_t>, kSlots> hashes_{};  // 0: free
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace mgtune
