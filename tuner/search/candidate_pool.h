// CandidatePool: the variants among which a model chooses the next one. A sample in which every
// design has its share, however few of the points are its own, and the neighborhoods of the best:
// so a space of ten million points costs what one of a thousand does. One thread.

#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "family/variant.h"
#include "space/random_stream.h"
#include "space/sampler.h"
#include "space/variant_set.h"

namespace mgtune {

// The admissible variants of the same design that differ from one in a single parameter, or by one
// step in the lists of two: what constraints tie together (a tile's two sides within one budget of
// threads) only moves in pairs. Of a parameter with very many values only the nearest 32.
std::vector<Variant> neighbors(const VariantSet& set, const Variant& variant);

class CandidatePool {
 public:
  CandidatePool(const VariantSet& set, std::uint64_t seed);

  // Replaces the candidates by others, up to `count`; fewer, or none, once that is all that is
  // left of the set.
  void draw(std::size_t count);
  void add_neighbors(const Variant& variant);  // behind the others

  // Indices into the set. Those taken since stay until the next draw.
  const std::vector<std::uint64_t>& indices() const { return indices_; }

  // From here on never a new candidate.
  void take(std::uint64_t index) { taken_.insert(index); }
  bool is_taken(std::uint64_t index) const { return taken_.contains(index); }

 private:
  void add(std::uint64_t index);
  std::optional<std::uint64_t> next_of_samples();
  std::optional<std::uint64_t> next_of_returned();

  const VariantSet& set_;
  RandomStream random_;
  std::vector<Sampler> samplers_;  // one per design, in turn; those that ended are gone
  std::size_t turn_ = 0;
  std::vector<std::uint64_t> indices_;
  std::unordered_set<std::uint64_t> members_;  // of indices_
  std::vector<std::uint64_t> returned_;        // candidates of earlier draws that nobody took
  std::unordered_set<std::uint64_t> taken_;
};

}  // namespace mgtune
