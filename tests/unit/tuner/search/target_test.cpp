#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/search.h"

namespace mgtune {
namespace {

TEST(TargetTest, IsAShareOfTheOptimum) {
  EXPECT_EQ(*parse_target("0.98", ""), 0.98);
  EXPECT_EQ(*parse_target("0.5", "random"), 0.5);
  for (const char* text :
       {"0", "1", "-0.1", "1.5", "98", "98%", "nan", "inf", "0.98x", "", "0,98"}) {
    const Result<double> target = parse_target(text, "adaptive");
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(target.status().message(),
                testing::HasSubstr("--target: expected a number between 0 and 1"));
  }
}

TEST(TargetTest, WhoVisitsEverythingHasNone) {
  const Result<double> target = parse_target("0.98", "exhaustive");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(target.status().message(), testing::HasSubstr("use adaptive or random"));
}

TEST(TargetTest, NamesTheGain) {
  EXPECT_EQ(gain_text(0.98), "2 %");
  EXPECT_EQ(gain_text(0.995), "0.5 %");
  EXPECT_EQ(gain_text(0.5), "50 %");
}

// A search that is as sure as it is told to be.
class Told final : public Search {
 public:
  explicit Told(double chance) : chance_(chance) {}
  std::optional<Variant> next() override { return std::nullopt; }
  void report(const Evaluation&) override {}
  double chance_of_gain(double gain) const override {
    EXPECT_NEAR(gain, 0.02, 1e-12);
    return chance_;
  }

 private:
  double chance_;
};

TEST(TargetTest, IsReachedWhenAGainIsUnlikely) {
  EXPECT_FALSE(is_reached(0.98, Told(1)));
  EXPECT_FALSE(is_reached(0.98, Told(0.06)));
  EXPECT_TRUE(is_reached(0.98, Told(0.04)));
}

}  // namespace
}  // namespace mgtune
