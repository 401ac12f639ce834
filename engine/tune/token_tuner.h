// The whole-token objective: tries other variants of the kernels of a model, one after the other,
// and keeps what makes a token faster. Variants of one kernel are compared in rounds: each round
// times a token with both, so that drift cancels. One thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace mgtune::engine {

// Runs tokens with chosen variants, and times them.
class TokenClock {
 public:
  virtual ~TokenClock() = default;

  // From now on the kernel with this number runs as this variant. After a failure another variant
  // must be chosen before the next sample.
  virtual Status choose(std::size_t kernel, const std::string& variant) = 0;

  virtual Result<double> sample() = 0;  // seconds per token
};

// One kernel of the model.
struct TokenChoices {
  std::string now;                      // the variant that runs when tuning begins
  std::vector<std::string> candidates;  // other variants
  // Returns further candidates. It is called if one of `candidates` was faster, with the new pick
  // and with `now` and all candidates that were tried. Empty: there are no further candidates.
  std::function<std::vector<std::string>(const std::string&, const std::vector<std::string>&)>
      near = {};
};

// The time with one variant divided by the time with another: the median of the ratios of the
// rounds, with its 95 % interval.
struct TokenRatio {
  double median = 0, low = 0, high = 0;
};
TokenRatio token_ratio(std::vector<double> ratios);  // at least kMinRounds

struct TokenTrial {
  std::string variant;
  std::string against;  // the variant that it was compared with
  std::uint32_t rounds = 0;
  double seconds = 0, against_seconds = 0;  // per token, medians
  TokenRatio ratio;
  bool is_faster = false;  // by more than the noise
  std::string failure;     // why it did not run; the fields above then mean nothing
};

struct TokenDecision {
  std::string pick;
  std::vector<TokenTrial> trials;
};

struct TokenTuning {
  std::vector<TokenDecision> decisions;  // of each kernel
  // Tokens with all picks, compared with the variants with which tuning began. If no pick is new,
  // both times are those of one sample, and the ratio is 1.
  double seconds_before = 0, seconds_after = 0;
  TokenRatio ratio;
  bool went_back = false;  // the picks were not faster together, so none was kept
};

inline constexpr std::uint32_t kMinRounds = 6;  // fewer have no interval of 95 %
inline constexpr std::uint32_t kMaxRounds = 200;
// A candidate must be faster by more than this share of the time of a token.
inline constexpr double kSmallestTokenGain = 0.001;

// Kernels are tried in the order of `kernels`. A candidate becomes the pick if the whole interval
// of the ratio is below 1 - kSmallestTokenGain; the next candidate is then compared with it. A
// candidate that won at most one of the first kMinRounds rounds is given up. A candidate that does
// not run is skipped, unless the device is lost. At the end, all picks together are compared with
// the variants that ran before; if they are not faster, all go back. `rounds` is from kMinRounds to
// kMaxRounds. `report` is called after each trial. `decided` is called when all candidates of a
// kernel have been tried, and at the end again for each pick that goes back. An error that it
// returns ends the tuning.
Result<TokenTuning> tune_token(
    TokenClock& clock, std::span<const TokenChoices> kernels, std::uint32_t rounds,
    const std::function<void(std::size_t, const TokenTrial&)>& report,
    const std::function<Status(std::size_t, const TokenDecision&)>& decided);

}  // namespace mgtune::engine
