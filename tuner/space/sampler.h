// Sampler: the admissible variants of a set, or of one of its designs, in random order, each once.
// Every order is equally likely.
//
// It draws indices and rejects inadmissible ones, so the first variants of a large space come
// without enumerating the space. When drawing gets slow, the remaining variants are enumerated and
// shuffled. A space of more than 2^24 points is never listed. If almost none of its points are
// admissible, the parameters get random values one after the other. This method prefers variants
// with few neighbours. The same seed gives the same order on every platform. Drawing and
// enumerating count as steps of a limit, which samplers and their user share. One thread.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "space/random_stream.h"
#include "space/variant_set.h"

namespace mgtune {

class Sampler {
 public:
  // The variants of all designs, or of one design.
  Sampler(const VariantSet& set, std::uint64_t seed, std::optional<std::size_t> design = {},
          std::shared_ptr<WalkLimit> limit = std::make_shared<WalkLimit>());

  // nullopt if all admissible variants were drawn, or if the limit was reached before the next one.
  std::optional<Variant> next();

 private:
  std::optional<std::uint64_t> draw();
  std::optional<std::uint64_t> seek();
  void enumerate_rest();

  const VariantSet* set_;  // a pointer, so that samplers can be assigned (they are in vectors)
  RandomStream random_;
  std::shared_ptr<WalkLimit> limit_;
  std::size_t first_design_, end_design_;
  std::uint64_t first_point_, size_;
  std::unordered_set<std::uint64_t> seen_;  // indices of variants that next() has returned
  std::uint64_t draws_left_;                // before drawing counts as slow
  bool enumerated_ = false;
  std::vector<std::uint64_t> rest_;  // indices, shuffled; drawn from the back
};

}  // namespace mgtune
