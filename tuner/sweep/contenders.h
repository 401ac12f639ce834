// Contenders: the variants of one problem that passed, in this sweep and in earlier ones, and the
// pick among them. A final decides. It waits for a GPU like a measurement, and other problems
// continue while it is held. Until the final is over, a problem without a pick gets the fastest
// single measurement as its pick. So the warm start of other problems does not depend on when a
// final ends.
//
// All arguments must outlive the object. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "final/final.h"
#include "sweep/known_results.h"
#include "sweep/planned_problem.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

class Contenders {
 public:
  // `view` has the problem's default; the winner is written into it.
  Contenders(SweepShared& shared, const PlannedProblem& planned, const KnownResults& results,
             TunedView& view)
      : shared_(shared), planned_(planned), results_(results), view_(view) {}

  void recall(const VariantState& state);  // one of an earlier sweep; perhaps not in the summary
  void add(const VariantState& state);     // one that the summary has counted
  bool has(const std::string& variant) const { return all_.contains(variant); }
  std::size_t size() const { return all_.size(); }

  const VariantState& at(const std::string& variant) const { return all_.at(variant); }
  const VariantState* best() const;        // the fastest; nullptr if there are none
  const VariantState* of_default() const;  // nullptr if it did not pass

  // The median with which this measurement is compared with those of other variants: at the SM
  // clock of the first one, if the problem follows the clock (final/sustained.h).
  double compared_ns(const MeasurementRecord& measurement) const;

  // The contenders that would take part in a final.
  std::vector<OutcomeRecord> finalists() const;

  // Which finals may decide: only a final that the store already has, or a new one too. A problem
  // has no final in any case if this process has only a part of its variants, or if the sweep is
  // for rules.
  enum class Finals : std::uint8_t { known, all };

  // Picks the winner, at once or when the final is over. `has_results`: this sweep has results of
  // the problem. If there are neither results nor contenders, the store's pick stays.
  Status begin_pick(Finals finals, bool has_results);

  // While the final is held.
  bool is_deciding() const { return final_.has_value(); }
  bool awaits(std::int64_t request) const { return final_ && final_->awaits() == request; }
  Status take(const WorkReply& reply);
  void forget_final() { final_.reset(); }  // the measure pool has failed
  // How long the last final took, its wait for a GPU included. 0: nothing was timed.
  double final_seconds() const { return final_seconds_; }

  // Whether the pick has failed at any problem on this GPU, perhaps after it was picked.
  Result<bool> pick_has_failed() const;

 private:
  Status move_on();
  Status finish(FinalResult result);
  Status expel(const OutcomeRecord& culprit);
  std::vector<OutcomeRecord> records() const;  // with the medians and quartiles that are compared
  // The times of the pick are at the clock at which the winner was measured.
  std::optional<Pick> pick_by_measurements() const;
  void see_clock(const VariantState& state);

  SweepShared& shared_;
  const PlannedProblem& planned_;
  const KnownResults& results_;
  TunedView& view_;
  std::map<std::string, VariantState> all_;
  std::set<std::string> counted_;  // texts of those that the summary has counted
  std::optional<Final> final_;
  std::chrono::steady_clock::time_point final_began_;
  double final_seconds_ = 0;
  double compared_mhz_ = 0;  // 0: the problem does not follow the clock, or it is not known
  bool has_results_ = false;
};

}  // namespace mgtune
