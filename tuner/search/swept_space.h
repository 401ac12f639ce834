// SweptSpace: a problem of which a sweep measured every variant: the operator's space as it is
// searched, and the time of each of its variants. Immutable; the problem's operator outlives it.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "space/space.h"
#include "store/records.h"

namespace mgtune {

class SweptSpace {
 public:
  // `rows` are of the problem, one GPU and one method; what a row says of a variant that the
  // operator no longer offers does not count. corrupt when a variant has no row, saying how many
  // have one.
  static Result<SweptSpace> make(const Problem& problem, const DeviceLimits& device,
                                 std::span<const OutcomeView> rows);

  const VariantSet& set() const { return *space_; }

  // In nanoseconds; 0 for one that failed. One that was raced out has the median of what was
  // measured of it, which is above the time of the fastest.
  double time(const Variant& variant) const { return times_.at(space_->index(variant)); }
  std::vector<double> times() const;

 private:
  explicit SweptSpace(std::unique_ptr<Space> space) : space_(std::move(space)) {}

  std::unique_ptr<Space> space_;
  std::unordered_map<std::uint64_t, double> times_;  // by index
};

}  // namespace mgtune
