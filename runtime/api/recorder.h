// MGTUNE_RECORD: a running program writes the problems that it launches, for
// 'mgtune sweep --shapes'. README.md has the format and the cost.
//
// ShapeFile and SeenDims are thread-safe. A PlanRecorder belongs to one plan; any number of threads
// may record.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "dispatch/plan.h"
#include "family/problem.h"
#include "launch/launch_dims.h"

namespace mgtune {

// A file to which each line is appended once per process. If the file cannot be written, there is
// one warning.
class ShapeFile {
 public:
  explicit ShapeFile(std::string path) : path_(std::move(path)) {}

  // The file that MGTUNE_RECORD names now. There is one object per file and process. Null if the
  // variable is not set.
  static ShapeFile* of_environment();

  void append(const Problem& problem);

 private:
  std::string path_;
  std::mutex mutex_;
  std::set<std::string> written_;
  bool failed_ = false;
};

// The different dims that a plan was launched with: a table of fixed size with a 64-bit hash of the
// dims of each such launch. It takes no lock and allocates nothing.
class SeenDims {
 public:
  static constexpr std::size_t kMaxDims =
      3072;  // of kSlots, so that a free slot is found within a few steps

  // Returns true if these dims are new. If several threads insert the same dims at the same time,
  // exactly one of them gets true. Returns false if the table is full.
  bool insert(std::span<const std::int64_t> dims);

  bool is_full() const { return count_.load(std::memory_order_relaxed) >= kMaxDims; }

 private:
  static constexpr std::size_t kSlots = 4096;

  std::array<std::atomic<std::uint64_t>, kSlots> hashes_{};  // 0: free
  std::atomic<std::size_t> count_ = 0;
};

class PlanRecorder {
 public:
  // The binding and the file must outlive it.
  PlanRecorder(const Binding& binding, ShapeFile& file)
      : binding_(binding), dims_(*binding.op), file_(file) {}

  // `dims` are the dims of a launch. -1 means the default of a dim.
  void record(std::span<const std::int64_t> dims) {
    if (seen_.insert(dims)) write(dims);
  }

 private:
  void write(std::span<const std::int64_t> dims);

  const Binding& binding_;
  LaunchDims dims_;
  ShapeFile& file_;
  SeenDims seen_;
};

}  // namespace mgtune
