#include "search/candidate_pool.h"

#include <cstddef>
#include <utility>

#include "search/neighborhood.h"

namespace mgtune {

CandidatePool::CandidatePool(const VariantSet& set, std::uint64_t seed) : set_(set), random_(seed) {
  for (std::size_t design = 0; design < set.design_count(); ++design) {
    samplers_.emplace_back(set, seed + design, design);
  }
}

void CandidatePool::draw(std::size_t count) {
  std::vector<std::uint64_t> previous;
  previous.swap(indices_);
  members_.clear();
  while (indices_.size() < count) {
    const std::optional<std::uint64_t> index = next_of_samples();
    if (!index.has_value()) break;
    add(*index);
  }
  // A space this small is all candidates, again and again.
  for (const std::uint64_t index : previous) {
    if (!is_taken(index)) returned_.push_back(index);
  }
  while (indices_.size() < count) {
    const std::optional<std::uint64_t> index = next_of_returned();
    if (!index.has_value()) break;
    add(*index);
  }
}

void CandidatePool::add_neighbors(const Variant& variant) {
  for (const Variant& neighbor : neighbors(set_, variant)) add(set_.index(neighbor));
}

void CandidatePool::add(std::uint64_t index) {
  if (!is_taken(index) && members_.insert(index).second) indices_.push_back(index);
}

std::optional<std::uint64_t> CandidatePool::next_of_samples() {
  while (!samplers_.empty()) {
    turn_ %= samplers_.size();
    const std::optional<Variant> variant = samplers_[turn_].next();
    if (variant.has_value()) {
      ++turn_;
      return set_.index(*variant);
    }
    samplers_.erase(samplers_.begin() + static_cast<std::ptrdiff_t>(turn_));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> CandidatePool::next_of_returned() {
  if (returned_.empty()) return std::nullopt;
  const auto place = static_cast<std::size_t>(random_.below(returned_.size()));
  std::swap(returned_[place], returned_.back());
  const std::uint64_t index = returned_.back();
  returned_.pop_back();
  return index;
}

}  // namespace mgtune
