#include "space/sampler.h"

#include <utility>

namespace mgtune {
namespace {

// Draws before the rest is enumerated. A draw costs about a microsecond, an enumeration some
// nanoseconds a point: from here on drawing would be the slower of the two.
std::uint64_t patience(const Space& space) { return 4096 + space.size() / 64; }

}  // namespace

// Uniform in [0, bound), the same on every platform (std::uniform_int_distribution is not).
std::uint64_t Sampler::below(std::uint64_t bound) {
  const std::uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
  while (true) {
    const std::uint64_t drawn = random_();
    if (drawn >= unfair) return drawn % bound;
  }
}

std::optional<Variant> Sampler::next() {
  while (!enumerated_ && draws_ < patience(space_) && space_.size() > 0) {
    ++draws_;
    const std::uint64_t index = below(space_.size());
    if (!seen_.insert(index).second) continue;
    Variant variant = space_.point(index);
    if (space_.admits(variant)) return variant;
  }
  if (!enumerated_) enumerate_rest();
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t index = rest_.back();
  rest_.pop_back();
  return space_.point(index);
}

void Sampler::enumerate_rest() {
  enumerated_ = true;
  space_.for_each([this](const Variant& variant) {
    const std::uint64_t index = space_.index(variant);
    if (!seen_.contains(index)) rest_.push_back(index);
    return true;
  });
  seen_.clear();
  for (std::size_t i = rest_.size(); i > 1; --i) {
    std::swap(rest_[i - 1], rest_[static_cast<std::size_t>(below(i))]);
  }
}

}  // namespace mgtune
