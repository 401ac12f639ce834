#include "space/space_part.h"

#include <algorithm>
#include <utility>

namespace mgtune {
namespace {

std::optional<std::uint64_t> index_of_default(const Space& space) {
  const std::vector<Variant> ladder = space.ladder();
  return ladder.empty() ? std::nullopt : std::optional(space.index(ladder.front()));
}

}  // namespace

// The finalizer of SplitMix64, https://prng.di.unimi.it/splitmix64.c
std::uint64_t scattered(std::uint64_t index) {
  std::uint64_t mixed = index + 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

SpacePart::SpacePart(Space whole, std::vector<std::uint64_t> indices)
    : whole_(std::move(whole)), indices_(std::move(indices)), default_(index_of_default(whole_)) {}

SpacePart::SpacePart(Space whole, std::uint64_t first, std::uint64_t last)
    : whole_(std::move(whole)), first_(first), last_(last), default_(index_of_default(whole_)) {}

bool SpacePart::owns(std::uint64_t index) const {
  if (default_ == index) return true;
  if (indices_.has_value()) return std::ranges::binary_search(*indices_, index);
  const std::uint64_t place = scattered(index);
  return first_ <= place && place <= last_;
}

bool SpacePart::admits(const Variant& variant) const {
  return owns(whole_.index(variant)) && whole_.admits(variant);
}

std::optional<std::uint64_t> SpacePart::next_admissible(std::uint64_t index,
                                                        WalkLimit& limit) const {
  std::optional<std::uint64_t> found = whole_.next_admissible(index, limit);
  while (found.has_value() && !owns(*found)) found = whole_.next_admissible(*found + 1, limit);
  return found;
}

bool SpacePart::for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const {
  const Visit visit_own = [&](const Variant& variant) {
    return !owns(whole_.index(variant)) || visit(variant);
  };
  return whole_.for_each_of(design, visit_own, limit);
}

bool SpacePart::wander_through(std::size_t design, RandomStream& random, const Visit& visit,
                               WalkLimit& limit) const {
  const Visit visit_own = [&](const Variant& variant) {
    return !owns(whole_.index(variant)) || visit(variant);
  };
  return whole_.wander_through(design, random, visit_own, limit);
}

std::vector<Variant> SpacePart::ladder() const {
  std::vector<Variant> ladder = whole_.ladder();
  std::erase_if(ladder, [this](const Variant& variant) { return !owns(whole_.index(variant)); });
  return ladder;
}

}  // namespace mgtune
