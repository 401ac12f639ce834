// The whole-token objective, with a clock that the tests set: which candidates are kept, which are
// noise, and what happens to one that does not run.

#include "tune/token_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/helpers/engine_models.h"

namespace mgtune::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A token takes a millisecond, and what the chosen variants add to it. Samples drift upwards, as a
// GPU gets slower while it gets warm, and every third one is off by a tenth of a millisecond.
class FakeClock final : public TokenClock {
 public:
  explicit FakeClock(std::map<std::string, double> added_us) : added_us_(std::move(added_us)) {}

  Status choose(std::size_t kernel, const std::string& variant) override {
    if (const auto failure = failures.find(variant); failure != failures.end()) {
      return failure->second;
    }
    chosen[kernel] = variant;
    return {};
  }

  Result<double> sample() override {
    double us = 1000 + samples_ * drift_us;
    if (samples_ % 3 == 0) us += noise_us;
    ++samples_;
    for (const auto& [kernel, variant] : chosen) us += added_us_.at(variant);
    if (samples_ > 60 && chosen[0] == "fast") us += late_us;
    return us / 1e6;
  }

  std::map<std::size_t, std::string> chosen;
  std::map<std::string, Status> failures;
  double drift_us = 0, noise_us = 0, late_us = 0;

 private:
  std::map<std::string, double> added_us_;
  int samples_ = 0;
};

using Decided = std::vector<std::pair<std::size_t, std::string>>;  // kernels and picks

TokenTuning tuned(FakeClock& clock, const std::vector<TokenChoices>& kernels,
                  std::uint32_t rounds = 15, Decided* decided = nullptr) {
  for (std::size_t i = 0; i < kernels.size(); ++i) clock.chosen[i] = kernels[i].now;
  return must(tune_token(
      clock, kernels, rounds, [](std::size_t, const TokenTrial&) {},
      [&](std::size_t kernel, const TokenDecision& decision) {
        if (decided != nullptr) decided->emplace_back(kernel, decision.pick);
        return Status();
      }));
}

TEST(TokenTuner, KeepsWhatMakesATokenFaster) {
  FakeClock clock({{"now", 0}, {"slow", 20}, {"fast", -30}, {"middle", -10}, {"other", 0}});
  clock.drift_us = 0.01;
  const TokenTuning tuning = tuned(clock, {{"now", {"slow", "fast", "middle"}}, {"other", {}}});
  const TokenDecision& decision = tuning.decisions[0];
  EXPECT_EQ(decision.pick, "fast");
  ASSERT_EQ(decision.trials.size(), 3U);
  EXPECT_FALSE(decision.trials[0].is_faster);
  EXPECT_EQ(decision.trials[0].rounds, kMinRounds) << "it lost all of them, so it was given up";
  EXPECT_TRUE(decision.trials[1].is_faster);
  EXPECT_EQ(decision.trials[1].rounds, 15U);
  EXPECT_EQ(decision.trials[1].against, "now");
  EXPECT_EQ(decision.trials[2].against, "fast");
  EXPECT_FALSE(decision.trials[2].is_faster);
  EXPECT_EQ(tuning.decisions[1].pick, "other");
  EXPECT_EQ(clock.chosen[0], "fast");
  EXPECT_NEAR(tuning.ratio.median, 0.97, 0.001);
  EXPECT_NEAR(tuning.seconds_before * 1e6, 1001, 1);
  EXPECT_NEAR(tuning.seconds_after * 1e6, 971, 1);
}

TEST(TokenTuner, TriesWhatIsNearABetterOne) {
  FakeClock clock({{"now", 0}, {"fast", -30}, {"near", -50}, {"nearer", -40}});
  std::vector<std::string> pick_and_tried;
  TokenChoices kernel{"now", {"fast"}};
  kernel.near = [&](const std::string& pick, const std::vector<std::string>& tried) {
    pick_and_tried = {pick};
    pick_and_tried.insert(pick_and_tried.end(), tried.begin(), tried.end());
    return std::vector<std::string>{"near", "nearer"};
  };
  TokenTuning tuning = tuned(clock, {kernel});
  EXPECT_THAT(pick_and_tried, ElementsAre("fast", "now", "fast"));
  EXPECT_EQ(tuning.decisions[0].pick, "near");
  EXPECT_EQ(tuning.decisions[0].trials.size(), 3U);
  kernel.now = "fast";
  kernel.candidates = {"now"};
  tuning = tuned(clock, {kernel});
  EXPECT_EQ(tuning.decisions[0].trials.size(), 1U) << "nothing was better";
}

TEST(TokenTuner, TakesNoiseForNoGain) {
  FakeClock clock({{"now", 0}, {"same", -0.5}, {"little", -6}});
  clock.noise_us = 100;
  const TokenTuning tuning = tuned(clock, {{"now", {"same"}}});
  EXPECT_EQ(tuning.decisions[0].pick, "now");
  EXPECT_EQ(clock.chosen[0], "now");
  EXPECT_EQ(tuning.ratio.median, 1);
  clock.noise_us = 0;
  EXPECT_EQ(tuned(clock, {{"now", {"same"}}}).decisions[0].pick, "now") << "less than 0.1 %";
  EXPECT_EQ(tuned(clock, {{"now", {"little"}}}).decisions[0].pick, "little");
}

TEST(TokenTuner, PassesOverWhatDoesNotRun) {
  FakeClock clock({{"now", 0}, {"fast", -30}});
  clock.failures.emplace("broken", Status(StatusCode::compile_failed, "no such register"));
  const TokenTuning tuning = tuned(clock, {{"now", {"broken", "fast"}}});
  EXPECT_EQ(tuning.decisions[0].trials[0].failure, "no such register");
  EXPECT_EQ(tuning.decisions[0].pick, "fast");

  clock.failures.emplace("lost", Status(StatusCode::device_lost, "it fell off the bus"));
  const std::vector<TokenChoices> kernels = {{"now", {"lost", "fast"}}};
  const auto ended = tune_token(
      clock, kernels, 15, [](std::size_t, const TokenTrial&) {},
      [](std::size_t, const TokenDecision&) { return Status(); });
  EXPECT_EQ(ended.status().code(), StatusCode::device_lost);
}

// So that nothing is lost if tuning ends early.
TEST(TokenTuner, TellsEachPickWhenItIsDecided) {
  FakeClock clock({{"now", 0}, {"fast", -30}, {"then", 0}});
  clock.failures.emplace("lost", Status(StatusCode::device_lost, "it fell off the bus"));
  Decided decided;
  const std::vector<TokenChoices> kernels = {{"now", {"fast"}}, {"then", {"lost"}}};
  for (std::size_t i = 0; i < kernels.size(); ++i) clock.chosen[i] = kernels[i].now;
  const auto tune = [&](const Status& stored) {
    decided.clear();
    return tune_token(
               clock, kernels, 15, [](std::size_t, const TokenTrial&) {},
               [&](std::size_t kernel, const TokenDecision& decision) {
                 decided.emplace_back(kernel, decision.pick);
                 return stored;
               })
        .status();
  };
  EXPECT_EQ(tune({}).code(), StatusCode::device_lost);
  EXPECT_EQ(decided, (Decided{{0, "fast"}}));
  clock.chosen[0] = "now";
  EXPECT_EQ(tune(Status(StatusCode::io, "the disk is full")).code(), StatusCode::io);
}

// The two comparisons take 30 samples each. Then the machine changes.
TEST(TokenTuner, GoesBackIfThePicksTogetherAreNoGain) {
  const std::vector<TokenChoices> kernels = {{"now", {"fast"}}, {"then", {"quick"}}};
  const std::map<std::string, double> added = {
      {"now", 0}, {"fast", -30}, {"then", 0}, {"quick", -30}};
  FakeClock steady(added);
  const TokenTuning kept = tuned(steady, kernels);
  EXPECT_EQ(kept.decisions[0].pick, "fast");
  EXPECT_EQ(kept.decisions[1].pick, "quick");
  EXPECT_NEAR(kept.ratio.median, 0.94, 1e-6);

  FakeClock changing(added);
  changing.late_us = 70;
  Decided decided;
  const TokenTuning undone = tuned(changing, kernels, 15, &decided);
  EXPECT_EQ(decided, (Decided{{0, "fast"}, {1, "quick"}, {0, "now"}, {1, "then"}}));
  EXPECT_TRUE(undone.decisions[0].trials[0].is_faster);
  EXPECT_EQ(undone.decisions[0].pick, "now");
  EXPECT_EQ(undone.decisions[1].pick, "then");
  EXPECT_EQ(changing.chosen[0], "now");
  EXPECT_EQ(changing.chosen[1], "then");
  EXPECT_GT(undone.ratio.median, 1);
  EXPECT_TRUE(undone.went_back);
  EXPECT_EQ(undone.seconds_after, undone.seconds_before);
}

TEST(TokenTuner, HasNothingToDoWithoutCandidates) {
  FakeClock clock({{"now", 0}});
  const TokenTuning tuning = tuned(clock, {{"now", {}}});
  EXPECT_EQ(tuning.decisions[0].pick, "now");
  EXPECT_THAT(tuning.decisions[0].trials, IsEmpty());
  EXPECT_DOUBLE_EQ(tuning.seconds_before, 1e-3);
  EXPECT_DOUBLE_EQ(tuning.seconds_after, 1e-3);
}

TEST(TokenRatio, HasTheIntervalOf95Percent) {
  const auto interval = [](std::size_t n) {
    std::vector<double> ratios;
    for (std::size_t i = n; i > 0; --i) ratios.push_back(static_cast<double>(i));
    const TokenRatio ratio = token_ratio(ratios);
    return std::vector<double>{ratio.low, ratio.median, ratio.high};
  };
  // The ranks of the sign test, as tables have them.
  EXPECT_THAT(interval(6), ElementsAre(1, 3.5, 6));
  EXPECT_THAT(interval(9), ElementsAre(2, 5, 8));
  EXPECT_THAT(interval(15), ElementsAre(4, 8, 12));
  EXPECT_THAT(interval(100), ElementsAre(40, 50.5, 61));
}

}  // namespace
}  // namespace mgtune::engine
