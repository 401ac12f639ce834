#include "space/sampler.h"

#include <utility>

namespace mgtune {
namespace {

// Draws before the rest is enumerated. A draw costs about a microsecond, an enumeration some
// nanoseconds a point: from here on drawing would be the slower of the two.
std::uint64_t patience(std::uint64_t size) { return 4096 + size / 64; }

}  // namespace

Sampler::Sampler(const VariantSet& set, std::uint64_t seed, std::size_t first_design,
                 std::size_t end_design)
    : set_(&set),
      random_(seed),
      first_design_(first_design),
      end_design_(end_design),
      first_point_(set.first_point(first_design)),
      size_(set.first_point(end_design) - first_point_) {}

std::optional<Variant> Sampler::next() {
  while (!enumerated_ && draws_ < patience(size_) && size_ > 0) {
    ++draws_;
    const std::uint64_t index = first_point_ + random_.below(size_);
    if (!seen_.insert(index).second) continue;
    Variant variant = set_->point(index);
    if (set_->admits(variant)) return variant;
  }
  if (!enumerated_) enumerate_rest();
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t index = rest_.back();
  rest_.pop_back();
  return set_->point(index);
}

void Sampler::enumerate_rest() {
  enumerated_ = true;
  for (std::size_t design = first_design_; design < end_design_; ++design) {
    set_->for_each_of(design, [this](const Variant& variant) {
      const std::uint64_t index = set_->index(variant);
      if (!seen_.contains(index)) rest_.push_back(index);
      return true;
    });
  }
  seen_.clear();
  for (std::size_t i = rest_.size(); i > 1; --i) {
    std::swap(rest_[i - 1], rest_[static_cast<std::size_t>(random_.below(i))]);
  }
}

}  // namespace mgtune
