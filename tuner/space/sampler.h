// Sampler: the admissible variants of a space in random order, each once, every order equally
// likely.
//
// Draws indices and rejects inadmissible ones, so the first variants of a large space come without
// enumerating it; once that gets slow the rest is enumerated and shuffled. The same seed gives
// the same order on every platform. One thread.

#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <unordered_set>
#include <vector>

#include "space/space.h"

namespace mgtune {

class Sampler {
 public:
  Sampler(const Space& space, std::uint64_t seed) : space_(space), random_(seed) {}

  std::optional<Variant> next();  // nullopt when every admissible variant was drawn

 private:
  std::uint64_t below(std::uint64_t bound);
  void enumerate_rest();

  const Space& space_;
  std::mt19937_64 random_;
  std::unordered_set<std::uint64_t> seen_;  // indices drawn, admissible or not
  std::uint64_t draws_ = 0;
  bool enumerated_ = false;
  std::vector<std::uint64_t> rest_;  // indices, shuffled; drawn from the back
};

}  // namespace mgtune
