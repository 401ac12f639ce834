#include "space/sampler.h"

#include <utility>

namespace mgtune {
namespace {

// A larger space is never listed, because the list would not fit into memory.
constexpr std::uint64_t kMaxListed = 1U << 24U;

// How many draws there are before drawing counts as slow. If the space can be listed, the limit
// holds for all draws together: a draw takes about a microsecond and an enumeration some
// nanoseconds per point, so beyond the limit an enumeration is faster. In a larger space, the limit
// holds for draws in a row that find nothing.
std::uint64_t patience(std::uint64_t size) { return size > kMaxListed ? 4096 : 4096 + size / 64; }

}  // namespace

Sampler::Sampler(const VariantSet& set, std::uint64_t seed, std::optional<std::size_t> design,
                 std::shared_ptr<WalkLimit> limit)
    : set_(&set),
      random_(seed),
      limit_(std::move(limit)),
      first_design_(design.value_or(0)),
      end_design_(design.has_value() ? *design + 1 : set.design_count()),
      first_point_(set.first_point(first_design_)),
      size_(set.first_point(end_design_) - first_point_),
      draws_left_(patience(size_)) {}

std::optional<Variant> Sampler::next() {
  if (const std::optional<std::uint64_t> index = draw()) return set_->point(*index);
  if (limit_->end() != WalkLimit::End::none) return std::nullopt;
  if (size_ > kMaxListed) {
    const std::optional<std::uint64_t> index = seek();
    return index.has_value() ? std::optional(set_->point(*index)) : std::nullopt;
  }
  if (!enumerated_) enumerate_rest();
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t index = rest_.back();
  rest_.pop_back();
  return set_->point(index);
}

// Draws an index that was not drawn before; nullopt once drawing is slow, and at the limit.
std::optional<std::uint64_t> Sampler::draw() {
  while (draws_left_ > 0 && size_ > 0 && limit_->step()) {
    --draws_left_;
    const std::uint64_t index = first_point_ + random_.below(size_);
    if (seen_.contains(index) || !set_->admits(set_->point(index))) continue;
    seen_.insert(index);
    if (size_ > kMaxListed) draws_left_ = patience(size_);
    return index;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Sampler::seek() {
  const std::uint64_t anywhere = first_point_ + random_.below(size_);
  std::size_t design = first_design_;
  while (set_->first_point(design + 1) <= anywhere) ++design;
  std::optional<std::uint64_t> found;
  const VariantSet::Visit visit = [&](const Variant& variant) {
    const std::uint64_t index = set_->index(variant);
    if (!seen_.insert(index).second) return true;
    found = index;
    return false;
  };
  for (std::size_t tried = first_design_; tried < end_design_; ++tried) {
    if (!set_->wander_through(design, random_, visit, *limit_)) break;
    design = design + 1 < end_design_ ? design + 1 : first_design_;
  }
  return found;
}

void Sampler::enumerate_rest() {
  const VariantSet::Visit visit = [this](const Variant& variant) {
    const std::uint64_t index = set_->index(variant);
    if (!seen_.contains(index)) rest_.push_back(index);
    return true;
  };
  for (std::size_t design = first_design_; design < end_design_; ++design) {
    if (set_->for_each_of(design, visit, *limit_)) continue;
    rest_.clear();  // a part of the list is not a random sample
    return;
  }
  enumerated_ = true;
  seen_.clear();
  for (std::size_t i = rest_.size(); i > 1; --i) {
    std::swap(rest_[i - 1], rest_[static_cast<std::size_t>(random_.below(i))]);
  }
}

}  // namespace mgtune
