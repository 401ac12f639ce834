// MeasuredProblems: the measurements of an operator on one GPU with the same dtypes and flags, by
// problem. Plain data and pure functions; the evidence must outlive it.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "selection/evidence.h"

namespace mgtune {

struct MeasuredVariant {
  std::uint32_t variant;  // of the evidence
  double median_ns;
};

struct MeasuredProblem {
  const Problem* problem;
  std::vector<MeasuredVariant> variants;  // fastest first; all passed their checks

  double best_ns() const { return variants.front().median_ns; }
  std::optional<double> median_ns(std::uint32_t variant) const;  // nullopt: not measured here
};

// The problems with at least one time, without variants that failed on the GPU at any problem.
std::vector<MeasuredProblem> measured_problems(const Evidence& evidence, const GpuRecord& gpu,
                                               const Binding& binding);

// Whether two bindings or problems of an operator have the same dtypes and flags.
bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b);

}  // namespace mgtune
