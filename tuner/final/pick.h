// Pick: which variant of a problem wins, and whether it beats the default. One thread.
//
// One variant beats another if its whole interquartile range is below the other's and its median is
// more than 1 % lower. Less cannot be distinguished from noise. The default stays unless it is
// beaten. Variants that the fastest one does not beat are tied with it. Of those that beat the
// default, the one with the fewest registers wins, then the first text, so that equal numbers give
// equal picks.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/status.h"
#include "family/problem.h"
#include "space/space.h"
#include "store/records.h"

namespace mgtune {

struct SweepShared;

struct Pick {
  OutcomeRecord winner;          // with the times that decided
  double default_median_ns = 0;  // 0 if the default is not among the contenders
  bool tie = false;              // some are faster than the default, but none by more than noise
};

// A contender passed its check and was measured in full. All are measured by the same method.
bool beats(const OutcomeRecord& a, const OutcomeRecord& b);

// nullopt if there are no contenders.
std::optional<Pick> pick_winner(std::span<const OutcomeRecord> contenders,
                                const std::string& default_variant);

// The problem's row among the picks, all but the winner: what the problem is and moves, its default
// and the method of its times.
Result<TunedView> view_before_pick(SweepShared& shared, const Problem& problem, const Space& space);

// Makes `pick` the winner of `view`, in the store and among the summary's picks. A pick that the
// store has already stays that of the sweep that made it. nullopt withdraws the store's: it holds
// no longer.
Status record_pick(SweepShared& shared, const std::optional<Pick>& pick, TunedView& view);

}  // namespace mgtune
