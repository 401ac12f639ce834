// The final's ranking: the variants of a problem that were timed in random round robin, held
// against each other round by round, so that what drifts cancels. Pure.
//
// A ratio is the median over the rounds of one variant's time over another's in the same round,
// with its 95 % interval. A variant is slower than another when the whole interval lies beyond the
// noise: beyond what two entries of one variant differ by (the A/A floor), and beyond 0.5 %,
// because what is smaller changes from process to process with the addresses of code and buffers.
// Variants that are not slower than the fastest are tied with it. The default is picked when it is
// tied; else, of those tied that beat the default, the one with the fewest registers, then the
// least text.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/records.h"
#include "final/pick.h"

namespace mgtune {

using Samples = std::vector<double>;  // nanoseconds, one a round

// How far the ratio of two entries of one variant lies from 1, its interval included.
double noise_floor(const Samples& a, const Samples& b);

// Who enters: the default first (the fastest where the default did not pass), then the fastest,
// `most` together besides the default, none that took a quarter longer than the fastest.
std::vector<Contender> final_entries(std::span<const Contender> contenders,
                                     const std::string& default_variant, std::size_t most);

struct FinalRanking {
  std::vector<FinalistRecord> finalists;  // the fastest first
  Pick pick;
};

// `samples[i]` are of `entries[i]`, as many of each; entries[0] is what ratios are to. At least one
// entry, and one round.
FinalRanking rank_final(std::span<const Contender> entries, std::span<const Samples> samples,
                        const std::string& default_variant, double noise_floor);

}  // namespace mgtune
