#include "search/candidate_pool.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace mgtune {
namespace {

constexpr std::ptrdiff_t kReach = 16;  // places to either side

}  // namespace

std::vector<Variant> neighbors(const VariantSet& set, const Variant& variant) {
  const std::vector<ParameterAxis> axes = set.axes(static_cast<std::size_t>(variant.design));
  std::vector<Variant> found;
  // Adds the variant with some parameters moved in their lists, unless a move leaves the list.
  using Move = std::pair<std::size_t, std::ptrdiff_t>;  // a parameter, and by how many places
  const auto add = [&](std::initializer_list<Move> moves) {
    Variant neighbor = variant;
    for (const auto& [parameter, step] : moves) {
      const std::vector<std::int64_t>& values = axes[parameter].values;
      const auto place = std::ranges::find(values, variant.values[parameter]) - values.begin();
      if (place + step < 0 || place + step >= std::ssize(values)) return;
      neighbor.values[parameter] = values[static_cast<std::size_t>(place + step)];
    }
    if (set.admits(neighbor)) found.push_back(std::move(neighbor));
  };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::ptrdiff_t step = -kReach; step <= kReach; ++step) {
      if (step != 0) add({{i, step}});
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const std::ptrdiff_t first : {-1, 1}) {
        for (const std::ptrdiff_t second : {-1, 1}) add({{i, first}, {j, second}});
      }
    }
  }
  return found;
}

CandidatePool::CandidatePool(const VariantSet& set, std::uint64_t seed,
                             const std::shared_ptr<WalkLimit>& limit)
    : set_(set), random_(seed), limit_(limit) {
  for (std::size_t design = 0; design < set.design_count(); ++design) {
    samplers_.emplace_back(set, seed + design, design, limit);
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
  // If a small space has no new variants left, candidates of earlier draws are used again.
  for (const std::uint64_t index : previous) {
    if (!is_excluded(index)) returned_.push_back(index);
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
  if (!is_excluded(index) && members_.insert(index).second) indices_.push_back(index);
}

std::optional<std::uint64_t> CandidatePool::next_of_samples() {
  while (!samplers_.empty()) {
    turn_ %= samplers_.size();
    const std::optional<Variant> variant = samplers_[turn_].next();
    if (variant.has_value()) {
      ++turn_;
      return set_.index(*variant);
    }
    if (limit_->end() != WalkLimit::End::none) return std::nullopt;  // it may have more
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
