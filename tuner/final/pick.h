// Pick: which variant of a problem wins, and whether it beats the default. One thread.
//
// The default stays unless the fastest variant beats it. Variants that the fastest one does not
// beat are tied with it. Of the tied variants that beat the default, the one with the fewest
// registers wins. If several have equally few, the first in alphabetical order wins, so that the
// same numbers always give the same pick. Variants whose registers are unknown come after all
// others.
//
// By single measurements, one variant beats another if its whole interquartile range is below the
// other's and its median is more than 1 % lower. A smaller difference cannot be distinguished from
// noise.
//
// In a final, the variants are timed in rounds of random order and compared round by round, so that
// drift cancels. A ratio is the median over the rounds of one variant's time divided by another's
// in the same round, with its 95 % interval. One variant beats another if the whole interval is
// beyond the noise: beyond the difference of two entries of one variant (the A/A floor), and beyond
// 0.5 %, because smaller differences change from process to process with the addresses of code and
// buffers.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "space/space.h"
#include "store/views.h"

namespace mgtune {

struct SweepShared;

struct Pick {
  OutcomeRecord winner;          // with the times that decided
  double default_median_ns = 0;  // 0 if the default is not among the contenders
  bool tie = false;              // some are faster than the default, but only within the noise
};

// Whether `a` beats `b`, by single measurements. Contenders passed their checks and were measured
// in full, all by the same method.
bool beats(const OutcomeRecord& a, const OutcomeRecord& b);

// The pick by single measurements; nullopt if there are no contenders.
std::optional<Pick> pick_winner(std::span<const OutcomeRecord> contenders,
                                const std::string& default_variant);

using Samples = std::vector<double>;  // nanoseconds, one per round

// `a` and `b` are the samples of two entries of one variant. The noise floor is the distance from 1
// of the ratio of their times, including its 95 % interval.
double noise_floor(const Samples& a, const Samples& b);

// The entries of a final: the default first (the fastest variant if the default did not pass), then
// the fastest variants, at most `max` besides the default. A variant that took a quarter longer
// than the fastest does not enter, and neither does one that took over the result of another
// contender.
std::vector<OutcomeRecord> final_entries(std::span<const OutcomeRecord> contenders,
                                         const std::string& default_variant, std::size_t max);

struct FinalRanking {
  std::vector<FinalistRecord> finalists;  // the fastest first
  Pick pick;
};

// `samples[i]` are the samples of `entries[i]`. All entries have the same number of samples. Ratios
// are relative to entries[0]. There must be at least one entry and one round.
FinalRanking rank_final(std::span<const OutcomeRecord> entries, std::span<const Samples> samples,
                        const std::string& default_variant, double noise_floor);

// Makes the finalist with the least energy the winner, if all finalists have an energy. The default
// stays unless the intervals of both energies do not overlap. `entries` are the entries of the
// final; the pick gets the winner's times in the final.
void pick_by_energy(std::span<const OutcomeRecord> entries,
                    std::span<const FinalistRecord> finalists, const std::string& default_variant,
                    Pick& pick);

// The row of the problem's pick without the winner. It has the problem with its bytes and flops,
// its default and the timing method. `space` is the whole space of the problem, because a program
// without results runs the default, no matter which part of the space a sweep visits.
Result<TunedView> view_before_pick(SweepShared& shared, const Problem& problem, const Space& space);

// Writes `pick` into the store if the store has no pick for the problem. It stands there while the
// final is held.
Status record_first_pick(SweepShared& shared, const std::optional<Pick>& pick,
                         const TunedView& view);

// Writes `pick` as the winner of `view` into the store, and adds it to the picks of the summary. If
// the store already has the same pick, its row keeps the sweep that made it. If `pick` is nullopt,
// the store's pick is deleted, because it is not valid any more.
Status record_pick(SweepShared& shared, const std::optional<Pick>& pick, TunedView& view);

}  // namespace mgtune
