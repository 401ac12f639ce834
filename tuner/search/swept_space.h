// SweptSpace: the space of a problem, with the time of every variant in it. It is for problems of
// which a sweep has measured all variants. Immutable; the operator of the problem must outlive it.

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
  // `rows` must be rows of this problem, one GPU and one method. Rows of variants that the operator
  // does not offer any more are ignored. corrupt if a variant has no row (the message says how many
  // have one), or if no variant passed.
  static Result<SweptSpace> make(const Problem& problem, const DeviceLimits& device,
                                 std::span<const OutcomeView> rows);

  const VariantSet& set() const { return *space_; }

  // The time in nanoseconds; 0 if the variant failed. If its measurement was stopped because it was
  // slow (raced_out), this is the median of the samples until then, which is above the time of the
  // fastest variant.
  double time(const Variant& variant) const { return times_.at(space_->index(variant)); }
  std::vector<double> times() const;

 private:
  explicit SweptSpace(std::unique_ptr<Space> space) : space_(std::move(space)) {}

  std::unique_ptr<Space> space_;
  std::unordered_map<std::uint64_t, double> times_;  // by index
};

}  // namespace mgtune
