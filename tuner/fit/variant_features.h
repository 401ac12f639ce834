// VariantFeatures: a variant at a problem, as the numbers that LossEstimates learns from: every
// name that expressions of the operator file can use (dims, dtypes, flags, parameters, lets), the
// bytes of the problem, and the blocks and threads of the first launch. So what the lets say of a
// kernel (rows per thread, waves, shared memory) counts too. Immutable.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

class VariantFeatures {
 public:
  // The operator must outlive the object.
  VariantFeatures(const Operator& op, const DeviceLimits& device);

  // Numbers and sizes are logarithms. A name that the variant's design does not have is -1. nullopt
  // if the variant cannot serve the problem.
  std::optional<std::vector<float>> of(const Problem& problem, const Variant& variant) const;

 private:
  const Operator& op_;
  DeviceLimits device_;
  std::map<std::string, std::size_t> places_;  // of names among the features
};

}  // namespace mgtune
