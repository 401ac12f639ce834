// RemainingGain: how likely it is that a variant that a search has not visited is faster than a
// bound, by the search's model.
//
// It looks at the whole set, not only at the candidates of the search: of 18,000 variants the
// search has about 1,000 candidates, and the others may be faster too. It predicts the time that a
// measurement would give, not only the part of the time that the parameters explain: each variant
// also deviates from its neighbors, and the model treats this deviation as noise. If the noise is
// large, almost all variants must be visited before the chance becomes small.
//
// The set and the encoding must outlive the object. One thread.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "search/encoding.h"
#include "search/posterior.h"
#include "space/variant_set.h"

namespace mgtune {

class RemainingGain {
 public:
  RemainingGain(const VariantSet& set, const MixedEncoding& encoding)
      : set_(set), encoding_(encoding) {}

  using IsVisited = std::function<bool(std::uint64_t index)>;

  // The probability that any variant that was not visited has a time below `bound`, which is scaled
  // like the targets. The variants are treated as independent of each other. The result is an upper
  // bound, because similar variants are fast together. 1 if the set has too many points to count.
  // It takes about 0.2 s for 10,000 variants and 200 observations. In a larger set, a random sample
  // of about 10,000 variants, drawn with `seed`, represents all.
  double chance(const Posterior& model, std::span<const Target> targets, double bound,
                const IsVisited& is_visited, std::uint64_t seed);

 private:
  std::optional<std::uint64_t> count();

  const VariantSet& set_;
  const MixedEncoding& encoding_;
  std::optional<std::uint64_t> variants_;  // of the set, once they were counted
};

}  // namespace mgtune
