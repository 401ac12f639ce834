#include "search/swept_space.h"

#include <string>
#include <utility>

namespace mgtune {
namespace {

double time_of(const OutcomeView& row) {
  const bool has_time = row.measurement.has_value() &&
                        (row.outcome == Outcome::ok || row.outcome == Outcome::raced_out);
  return has_time ? row.measurement->median_ns : 0;
}

}  // namespace

Result<SweptSpace> SweptSpace::make(const Problem& problem, const DeviceLimits& device,
                                    std::span<const OutcomeView> rows) {
  SweptSpace swept(std::make_unique<Space>(problem, device));
  bool any_passed = false;
  for (const OutcomeView& row : rows) {
    const Result<Variant> variant = parse_variant(*problem.op, row.variant);
    if (!variant.ok() || !swept.space_->admits(*variant)) continue;
    const double time = time_of(row);
    swept.times_[swept.space_->index(*variant)] = time;
    any_passed = any_passed || time > 0;
  }
  const std::uint64_t variants = admissible_variants(swept.space_->statistics());
  if (swept.times_.size() < variants) {
    return corrupt(std::to_string(swept.times_.size()) + " of its " + std::to_string(variants) +
                   " variants were visited; sweep it with --strategy exhaustive");
  }
  if (!any_passed) return corrupt("none of its variants passed");
  return swept;
}

std::vector<double> SweptSpace::times() const {
  std::vector<double> times;
  times.reserve(times_.size());
  for (const auto& [index, time] : times_) times.push_back(time);
  return times;
}

}  // namespace mgtune
