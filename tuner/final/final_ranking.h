// The final's ranking: the variants of a problem that were timed in rounds of random order are
// compared round by round, so that drift cancels. Pure.
//
// A ratio is the median over the rounds of one variant's time divided by another's in the same
// round, with its 95 % interval. A variant is slower than another if the whole interval is beyond
// the noise: beyond the difference of two entries of one variant (the A/A floor), and beyond 0.5 %,
// because smaller differences change from process to process with the addresses of code and
// buffers. Variants that are not slower than the fastest are tied with it. The default is picked if
// it is tied. Otherwise, of the tied variants that beat the default, the one with the fewest
// registers is picked, then the one with the first text.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "final/pick.h"
#include "store/records.h"

namespace mgtune {

using Samples = std::vector<double>;  // nanoseconds, one per round

// The distance from 1 of the ratio of two entries of one variant, including its interval.
double noise_floor(const Samples& a, const Samples& b);

// The entries: the default first (the fastest variant if the default did not pass), then the
// fastest, at most `max` besides the default. A variant that took a quarter longer than the
// fastest does not enter.
std::vector<OutcomeRecord> final_entries(std::span<const OutcomeRecord> contenders,
                                         const std::string& default_variant, std::size_t max);

struct FinalRanking {
  std::vector<FinalistRecord> finalists;  // the fastest first
  Pick pick;
};

// `samples[i]` are those of `entries[i]`, the same number for each. Ratios are relative to
// entries[0]. At least one entry and one round.
FinalRanking rank_final(std::span<const OutcomeRecord> entries, std::span<const Samples> samples,
                        const std::string& default_variant, double noise_floor);

}  // namespace mgtune
