// VariantFeatures: a variant at a problem as numbers and words. The distance of two of them says
// how similarly they run: the geometry of the launch, the parameters, the design. Immutable; any
// number of threads may use one.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

class VariantFeatures {
 public:
  static constexpr std::size_t kNumbers = 16, kWords = 12;

  struct Values {
    std::array<float, kNumbers> numbers{};  // already weighted, for a plain distance
    std::array<std::int16_t, kWords> words{};
  };

  // Parameters for which Values has no room are left out.
  explicit VariantFeatures(const Operator& op);

  // False if the variant does not serve the problem, as far as that is known before it is built.
  bool read(const Problem& problem, const Variant& variant, const DeviceLimits& device,
            Values& values) const;

  // 0 for equal values; infinity if it is at least `limit`.
  float squared_distance(const Values& a, const Values& b, float limit) const;

 private:
  struct Place {
    bool is_number;
    std::size_t index;  // into the numbers or words; kNone: left out
  };

  std::vector<std::vector<Place>> places_;  // of each design's parameters
  std::size_t numbers_ = 0, words_ = 0;
};

// The problem's cost in bytes, at least 1.
double cost_bytes(const Problem& problem);

}  // namespace mgtune
