// Which variants of a kernel are worth a try in whole tokens: those that a sweep found fast.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "store/store.h"

namespace mgtune::engine {

struct MeasuredVariant {
  std::string variant;
  std::string build_sha256;
  double median_ns = 0;  // of a launch alone
};

// What a database knows of a problem on a GPU.
struct MeasuredKernel {
  std::string method;                     // of the times; "" if there are none
  std::int64_t gpu = 0;                   // its row id; 0 if there are no times
  std::vector<MeasuredVariant> variants;  // the fastest first

  const MeasuredVariant* find(const std::string& variant) const;  // null: it was not measured
};

// The variants whose newest result is correct and has a time, even a time that racing cut short. If
// there are several timing methods, only the one that programs prefer counts (method_rank() in
// selection/evidence.h).
Result<MeasuredKernel> measured_kernel(Store& store, const GpuRecord& gpu, const Problem& problem);

// Chooses at most `max` of the variants, without `now` and without variants that take more than
// `max_ratio` times as long as the fastest. It takes the fastest one. Then it takes, the fastest
// first, each variant that has a value of a parameter which neither `now` nor a faster variant has.
// The fastest variants alone are often nearly the same, but candidates should differ in what may
// matter between other kernels.
std::vector<std::string> choose_candidates(std::span<const MeasuredVariant> variants,
                                           const std::string& now, std::size_t max,
                                           double max_ratio);

// Chooses at most `max` of the variants: those that differ from `pick` in the fewest parameters,
// and among equal ones the fastest first. Variants in `tried` are left out, and so are variants
// that take more than `max_ratio` times as long as the fastest.
std::vector<std::string> nearest_variants(std::span<const MeasuredVariant> variants,
                                          const std::string& pick,
                                          std::span<const std::string> tried, std::size_t max,
                                          double max_ratio);

}  // namespace mgtune::engine
