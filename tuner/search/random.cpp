// Random: every order of the set equally likely, the same seed the same order. It is what better
// strategies are compared with, and its expectation is known exactly (random_expectation()).

#include <algorithm>
#include <cmath>

#include "search/search.h"
#include "space/sampler.h"

namespace mgtune {
namespace {

// Variants of a larger set are not counted: all its points are taken for them, so that the share
// that was seen is never overstated.
constexpr std::uint64_t kMaxCounted = 1U << 20U;

// Variants that a faster one is believed not to be alone with; see chance_of_gain().
constexpr std::size_t kMaxCompany = 3;

std::uint64_t count_variants(const VariantSet& set) {
  if (set.size() > kMaxCounted) return set.size();
  std::uint64_t count = 0;
  set.for_each([&count](const Variant&) { return ++count > 0; });
  return count;
}

class RandomSearch final : public Search {
 public:
  RandomSearch(const VariantSet& set, std::uint64_t seed) : set_(set), sampler_(set, seed) {}

  std::optional<Variant> next() override { return sampler_.next(); }

  void report(const Evaluation& evaluation) override {
    ++reported_;
    if (evaluation.outcome == Outcome::ok) times_.push_back(evaluation.median_ns);
  }

  // Whatever a set is like, what was not drawn holds any one of its variants with the probability
  // of its share, and a whole group with about that to the power of the group's size. A group that
  // is faster is taken to be as large as that of the fastest drawn, up to a few: a sample's
  // fastest often are a crowd where the optimum is not.
  double chance_of_gain(double gain) const override {
    if (times_.empty()) return 1;
    if (variants_ == 0) variants_ = count_variants(set_);
    const double bound = *std::ranges::min_element(times_) / (1 - gain);
    const auto company = static_cast<std::size_t>(
        std::ranges::count_if(times_, [bound](double time) { return time <= bound; }));
    const double left = 1 - static_cast<double>(reported_) / static_cast<double>(variants_);
    return std::pow(std::max(left, 0.0), static_cast<double>(std::min(company, kMaxCompany)));
  }

 private:
  const VariantSet& set_;
  Sampler sampler_;
  std::uint64_t reported_ = 0;
  std::vector<double> times_;           // of those that passed
  mutable std::uint64_t variants_ = 0;  // of the set; 0: not counted yet
};

std::unique_ptr<Search> make_random(const VariantSet& set, std::uint64_t seed, const WarmStart&) {
  return std::make_unique<RandomSearch>(set, seed);
}

}  // namespace

Strategy random_strategy() { return {"random", make_random, false, true}; }

}  // namespace mgtune
