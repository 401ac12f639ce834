// The strategy `random` visits the variants in random order. Every order is equally likely, and the
// same seed gives the same order. Better strategies are compared with it, because its expectation
// is known exactly (random_expectation()).

#include <algorithm>
#include <cmath>

#include "search/search.h"
#include "space/sampler.h"

namespace mgtune {
namespace {

// The variants of a larger set are not counted. The number of its points is used instead, so the
// share of the variants that were visited is never overestimated.
constexpr std::uint64_t kMaxCounted = 1U << 20U;

// chance_of_gain() assumes that at most this many variants are equally fast.
constexpr std::size_t kMaxGroup = 3;

std::uint64_t count_variants(const VariantSet& set) {
  if (set.size() > kMaxCounted) return set.size();
  std::uint64_t count = 0;
  set.for_each([&count](const Variant&) { return ++count > 0; });
  return count;
}

class RandomSearch final : public Search {
 public:
  RandomSearch(const VariantSet& set, std::uint64_t seed, const std::shared_ptr<WalkLimit>& limit)
      : set_(set), sampler_(set, seed, {}, limit) {}

  std::optional<Variant> next() override { return sampler_.next(); }

  void report(const Evaluation& evaluation) override {
    ++reported_;
    if (evaluation.outcome == Outcome::ok) times_.push_back(evaluation.median_ns);
  }

  // Let `left` be the share of the variants that were not drawn. This is also the probability that
  // a given variant was not drawn. The probability that none of a group of n variants was drawn
  // is about left^n. We assume that the faster variants are a group as large as the group of the
  // fastest ones that were drawn, but no larger than kMaxGroup, because a sample often has many
  // equally fast variants although the optimum is a single variant.
  double chance_of_gain(double gain) const override {
    if (times_.empty()) return 1;
    if (variants_ == 0) variants_ = count_variants(set_);
    const double bound = *std::ranges::min_element(times_) / (1 - gain);
    const auto group = static_cast<std::size_t>(
        std::ranges::count_if(times_, [bound](double time) { return time <= bound; }));
    const double left = 1 - static_cast<double>(reported_) / static_cast<double>(variants_);
    return std::pow(std::max(left, 0.0), static_cast<double>(std::min(group, kMaxGroup)));
  }

 private:
  const VariantSet& set_;
  Sampler sampler_;
  std::uint64_t reported_ = 0;
  std::vector<double> times_;           // of the variants that passed
  mutable std::uint64_t variants_ = 0;  // of the set; 0: not counted yet
};

std::unique_ptr<Search> make_random(const VariantSet& set, std::uint64_t seed,
                                    const std::shared_ptr<WalkLimit>& limit) {
  return std::make_unique<RandomSearch>(set, seed, limit);
}

}  // namespace

Strategy random_strategy() { return {"random", make_random, false, true}; }

}  // namespace mgtune
