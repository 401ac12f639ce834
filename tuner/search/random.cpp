// Random: every order of the set equally likely, the same seed the same order. It is what better
// strategies are compared with, and its expectation is known exactly (random_expectation()).

#include "search/strategies.h"
#include "space/sampler.h"

namespace mgtune {
namespace {

class RandomSearch final : public Search {
 public:
  RandomSearch(const VariantSet& set, std::uint64_t seed) : sampler_(set, seed) {}

  std::optional<Variant> next() override { return sampler_.next(); }
  void report(const Evaluation&) override {}

 private:
  Sampler sampler_;
};

}  // namespace

std::unique_ptr<Search> make_random_search(const VariantSet& set, std::uint64_t seed,
                                           const WarmStart&) {
  return std::make_unique<RandomSearch>(set, seed);
}

}  // namespace mgtune
