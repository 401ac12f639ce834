// SpacePart: the variants of a space that one shard of a sweep visits. The parts of all shards are
// disjoint, except for the default, which every part has, because a sweep compares everything with
// the default. Points keep the indices of the whole space. Immutable: const methods may run
// concurrently. The objects that the space refers to must outlive this object.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "space/space.h"
#include "space/variant_set.h"

namespace mgtune {

// A hash of the index that is the same on every machine. It is used to distribute the points of a
// space.
std::uint64_t scattered(std::uint64_t index);

class SpacePart final : public VariantSet {
 public:
  // The points with these indices, ascending.
  SpacePart(Space whole, std::vector<std::uint64_t> indices);

  // The points whose scattered() index lies in [first, last]. For spaces that are too large to be
  // listed.
  SpacePart(Space whole, std::uint64_t first, std::uint64_t last);

  std::size_t design_count() const override { return whole_.design_count(); }
  std::vector<ParameterAxis> axes(std::size_t design) const override { return whole_.axes(design); }
  std::uint64_t first_point(std::size_t design) const override {
    return whole_.first_point(design);
  }
  Variant point(std::uint64_t index) const override { return whole_.point(index); }
  std::uint64_t index(const Variant& variant) const override { return whole_.index(variant); }
  bool admits(const Variant& variant) const override;
  std::optional<std::uint64_t> next_admissible(std::uint64_t index,
                                               WalkLimit& limit) const override;
  bool for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const override;
  bool wander_through(std::size_t design, RandomStream& random, const Visit& visit,
                      WalkLimit& limit) const override;
  std::vector<Variant> ladder() const override;  // the default, and the other rungs that it has

 private:
  bool owns(std::uint64_t index) const;

  Space whole_;
  std::optional<std::vector<std::uint64_t>> indices_;
  std::uint64_t first_ = 0, last_ = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> default_;  // its index
};

}  // namespace mgtune
