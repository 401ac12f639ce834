// NearVariants: the variants that a fit meets, each with a number, and how near they are to one
// another. Estimates of losses look at near variants again and again, so nearness is computed once.
// Any number of threads may read one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "family/variant.h"

namespace mgtune {

class NearVariants {
 public:
  struct Near {
    std::uint32_t variant = 0;  // its number
    float weight = 0;           // 1 for the variant itself
  };

  // The operator must outlive the object.
  explicit NearVariants(const Operator& op) : op_(op) {}

  // The number of the variant: 0, 1, ... in the order in which variants are added.
  std::uint32_t add(const Variant& variant);
  const Variant& at(std::uint32_t number) const { return variants_[number]; }
  std::size_t size() const { return variants_.size(); }

  // From now on near() lists only the variants that have been added so far. Called once.
  void close() { closed_ = variants_.size(); }

  // Computes what near() returns for the variants that were added since the last call. If there are
  // none, this changes nothing, and other threads may read the object meanwhile.
  void find_near();

  // The variants of the same design that were added before close() and are near. One parameter that
  // differs by a factor of two leaves a weight of about 0.1. The variant must have been added
  // before the last find_near().
  std::span<const Near> near(std::uint32_t variant) const { return near_[variant]; }

 private:
  using Key = std::pair<int, std::vector<std::int64_t>>;
  float weight(const Variant& a, const Variant& b) const;

  const Operator& op_;
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Variant> variants_;
  std::size_t closed_ = 0;
  std::vector<std::vector<Near>> near_;  // of each variant that find_near() knows
};

}  // namespace mgtune
