// Boosted trees find what depends on several features at once, and repeat themselves exactly.

#include "fit/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "space/random_stream.h"

namespace mgtune {
namespace {

struct Samples {
  std::vector<float> features, wanted;
};

// Three features, the last of which says nothing. The other two matter together only.
float truth(float a, float b) { return a < 4 ? b : 10 - b; }

Samples samples(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  Samples drawn;
  for (std::size_t i = 0; i < count; ++i) {
    const auto a = static_cast<float>(10 * random.uniform());
    const auto b = static_cast<float>(10 * random.uniform());
    drawn.features.insert(drawn.features.end(), {a, b, static_cast<float>(random.uniform())});
    drawn.wanted.push_back(truth(a, b));
  }
  return drawn;
}

TEST(BoostedTrees, FindWhatTwoFeaturesSayTogether) {
  const Samples known = samples(2000, 1), others = samples(200, 2);
  const BoostedTrees trees(known.features, known.wanted);
  double off = 0;
  for (std::size_t i = 0; i < others.wanted.size(); ++i) {
    off += std::abs(trees.predict({others.features.data() + 3 * i, 3}) - others.wanted[i]);
  }
  EXPECT_LT(off / static_cast<double>(others.wanted.size()), 0.3);
}

TEST(BoostedTrees, TheSameSamplesGiveTheSamePredictions) {
  const Samples known = samples(300, 3);
  const BoostedTrees first(known.features, known.wanted), second(known.features, known.wanted);
  for (std::size_t i = 0; i < known.wanted.size(); ++i) {
    const std::span<const float> features(known.features.data() + 3 * i, 3);
    EXPECT_EQ(first.predict(features), second.predict(features));
  }
}

TEST(BoostedTrees, OfFewSamplesPredictTheirMean) {
  const std::vector<float> features = {1, 2, 3, 4}, wanted = {0.1F, 0.3F};
  EXPECT_NEAR(BoostedTrees(features, wanted).predict({features.data(), 2}), 0.2, 1e-6);
  EXPECT_EQ(BoostedTrees({}, {}).predict({}), 0);
}

}  // namespace
}  // namespace mgtune
