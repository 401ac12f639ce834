#include "tune/token_tuner.h"

#include <algorithm>
#include <utility>

namespace mgtune::engine {
namespace {

using Choose = std::function<Status()>;

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The interval of 95 % of the median of n sorted values goes from the k-th smallest to the k-th
// largest: k is the largest number for which fewer than k of n fair coins show heads with a
// probability of at most 2.5 %. At least 1.
std::size_t interval_rank(std::size_t n) {
  double term = 1;  // n over k
  double all = 1;
  for (std::size_t i = 0; i < n; ++i) all *= 2;
  double heads = 0;
  for (std::size_t k = 0; k < n; ++k) {
    heads += term;
    if (heads / all > 0.025) return std::max<std::size_t>(k, 1);
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return 1;
}

// Samples of two states of the clock, one of each per round.
struct TokenRounds {
  std::vector<double> first, second;

  std::vector<double> ratios() const {
    std::vector<double> values;
    for (std::size_t i = 0; i < first.size(); ++i) values.push_back(second[i] / first[i]);
    return values;
  }

  bool is_hopeless() const {
    if (first.size() != kMinRounds) return false;
    return std::ranges::count_if(ratios(), [](double ratio) { return ratio < 1; }) < 2;
  }
};

class TokenTuner {
 public:
  TokenTuner(TokenClock& clock, std::uint32_t rounds) : clock_(clock), rounds_(rounds) {}

  // Afterwards either of the two may be in effect, so the caller must choose again.
  Status compare(const Choose& first, const Choose& second, bool may_give_up, TokenRounds& rounds) {
    const auto time = [&](const Choose& choose, std::vector<double>& samples) -> Status {
      MGTUNE_TRY(choose());
      MGTUNE_ASSIGN(const double seconds, clock_.sample());
      samples.push_back(seconds);
      return {};
    };
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      const bool is_even = round % 2 == 0;
      if (is_even) MGTUNE_TRY(time(first, rounds.first));
      MGTUNE_TRY(time(second, rounds.second));
      if (!is_even) MGTUNE_TRY(time(first, rounds.first));
      if (may_give_up && rounds.is_hopeless()) break;
    }
    return {};
  }

  Result<TokenTrial> try_variant(std::size_t kernel, const std::string& against,
                                 const std::string& variant) {
    TokenTrial trial;
    trial.variant = variant;
    trial.against = against;
    Status runs = clock_.choose(kernel, variant);
    if (runs.code() == StatusCode::device_lost) return runs;
    if (!runs.ok()) {
      trial.failure = runs.message();
      MGTUNE_TRY(clock_.choose(kernel, against));
      return trial;
    }
    TokenRounds rounds;
    MGTUNE_TRY(compare([&] { return clock_.choose(kernel, against); },
                       [&] { return clock_.choose(kernel, variant); }, true, rounds));
    trial.rounds = static_cast<std::uint32_t>(rounds.first.size());
    trial.seconds = middle_of(rounds.second);
    trial.against_seconds = middle_of(rounds.first);
    trial.ratio = token_ratio(rounds.ratios());
    trial.is_faster = trial.ratio.high < 1 - kSmallestTokenGain;
    MGTUNE_TRY(clock_.choose(kernel, trial.is_faster ? variant : against));
    return trial;
  }

  // Compares all picks together with the variants that ran before.
  Status finish(std::span<const TokenChoices> kernels,
                const std::function<Status(std::size_t, const TokenDecision&)>& decided,
                TokenTuning& tuning) {
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (tuning.decisions[i].pick != kernels[i].now) changed.push_back(i);
    }
    tuning.ratio = {1, 1, 1};
    if (changed.empty()) {
      MGTUNE_ASSIGN(tuning.seconds_before, clock_.sample());
      tuning.seconds_after = tuning.seconds_before;
      return {};
    }
    const auto choose_all = [&](bool after) -> Status {
      for (const std::size_t i : changed) {
        MGTUNE_TRY(clock_.choose(i, after ? tuning.decisions[i].pick : kernels[i].now));
      }
      return {};
    };
    TokenRounds rounds;
    MGTUNE_TRY(compare([&] { return choose_all(false); }, [&] { return choose_all(true); }, false,
                       rounds));
    tuning.seconds_before = middle_of(rounds.first);
    tuning.seconds_after = middle_of(rounds.second);
    tuning.ratio = token_ratio(rounds.ratios());
    const bool is_faster = tuning.ratio.median < 1;
    MGTUNE_TRY(choose_all(is_faster));
    if (is_faster) return {};
    tuning.went_back = true;
    tuning.seconds_after = tuning.seconds_before;
    for (const std::size_t i : changed) {
      tuning.decisions[i].pick = kernels[i].now;
      MGTUNE_TRY(decided(i, tuning.decisions[i]));
    }
    return {};
  }

 private:
  TokenClock& clock_;
  const std::uint32_t rounds_;
};

}  // namespace

TokenRatio token_ratio(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const std::size_t rank = interval_rank(ratios.size());
  return {middle_of(ratios), ratios[rank - 1], ratios[ratios.size() - rank]};
}

Result<TokenTuning> tune_token(
    TokenClock& clock, std::span<const TokenChoices> kernels, std::uint32_t rounds,
    const std::function<void(std::size_t, const TokenTrial&)>& report,
    const std::function<Status(std::size_t, const TokenDecision&)>& decided) {
  TokenTuner tuner(clock, rounds);
  TokenTuning tuning;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const TokenChoices& kernel = kernels[i];
    TokenDecision decision{kernel.now, {}};
    std::vector<std::string> tried = {kernel.now};
    const auto try_all = [&](const std::vector<std::string>& candidates) -> Status {
      for (const std::string& candidate : candidates) {
        MGTUNE_ASSIGN(TokenTrial trial, tuner.try_variant(i, decision.pick, candidate));
        if (trial.is_faster) decision.pick = candidate;
        report(i, trial);
        decision.trials.push_back(std::move(trial));
        tried.push_back(candidate);
      }
      return {};
    };
    MGTUNE_TRY(try_all(kernel.candidates));
    if (decision.pick != kernel.now && kernel.near) {
      MGTUNE_TRY(try_all(kernel.near(decision.pick, tried)));
    }
    tuning.decisions.push_back(std::move(decision));
    MGTUNE_TRY(decided(i, tuning.decisions.back()));
  }
  MGTUNE_TRY(tuner.finish(kernels, decided, tuning));
  return tuning;
}

}  // namespace mgtune::engine
