// CandidatePool: the variants among which a model chooses the next one. They are a random sample,
// in which every design has an equal share, and the neighborhoods of the best variants. So a space
// of ten million points costs no more time than a space of a thousand points. One thread.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "family/variant.h"
#include "space/random_stream.h"
#include "space/sampler.h"
#include "space/variant_set.h"

namespace mgtune {

// The neighbors of a variant: admissible variants of the same design that differ in one parameter,
// or that differ in two parameters by one step in the list of each. Pairs are needed because a
// constraint may allow only changes of two parameters together, for example of the two sides of a
// tile whose product is limited. In a long list of values, only the 16 values before and the 16
// values after the variant's value are used.
std::vector<Variant> neighbors(const VariantSet& set, const Variant& variant);

class CandidatePool {
 public:
  CandidatePool(const VariantSet& set, std::uint64_t seed,
                const std::shared_ptr<WalkLimit>& limit = std::make_shared<WalkLimit>());

  // Replaces the candidates by up to `count` others. There are fewer, or none, if the set has no
  // more, or if the walk reached its limit.
  void draw(std::size_t count);
  void add_neighbors(const Variant& variant);  // adds them after the others

  // Indices into the set. Those that were excluded since the last draw stay until the next one.
  const std::vector<std::uint64_t>& indices() const { return indices_; }

  // A variant that was excluded never becomes a candidate again.
  void exclude(std::uint64_t index) { excluded_.insert(index); }
  bool is_excluded(std::uint64_t index) const { return excluded_.contains(index); }

 private:
  void add(std::uint64_t index);
  std::optional<std::uint64_t> next_of_samples();
  std::optional<std::uint64_t> next_of_returned();

  const VariantSet& set_;
  RandomStream random_;
  std::shared_ptr<WalkLimit> limit_;
  std::vector<Sampler> samplers_;  // one per design, used in turn; empty ones are removed
  std::size_t turn_ = 0;
  std::vector<std::uint64_t> indices_;
  std::unordered_set<std::uint64_t> members_;  // of indices_
  std::vector<std::uint64_t> returned_;        // candidates of earlier draws that were not excluded
  std::unordered_set<std::uint64_t> excluded_;
};

}  // namespace mgtune
