// LaunchDims: the dynamic and hint dims of an operator in the order in which every launch passes
// them. Immutable; any number of threads may call resolve(). The operator must outlive it.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/operator.h"

namespace mgtune {

// Inclusive bounds of a dynamic or hint dim.
struct DimRange {
  std::int64_t low = 1;
  std::int64_t high = 1;
};

// Every bit of a dim affects every bit of the hash.
std::uint64_t hash_of(std::span<const std::int64_t> dims);

class LaunchDims {
 public:
  explicit LaunchDims(const Operator& op);

  std::size_t size() const { return dims_.size(); }
  const Dim& operator[](std::size_t index) const { return *dims_[index]; }

  // Writes each dim into its slot of `slots`, which already has the static values. -1 means the
  // dim's default. invalid_argument for a wrong count, a negative dim, and -1 if there is no
  // default. Allocates only to describe a failure.
  Status resolve(std::span<const std::int64_t> dims, std::span<std::int64_t> slots) const;

  // "rows=4096 x_stride=1024", for messages.
  std::string text(std::span<const std::int64_t> slots) const;

 private:
  const Operator& op_;
  std::vector<const Dim*> dims_;
};

}  // namespace mgtune
