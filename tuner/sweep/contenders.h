// Contenders: the variants of one problem that passed, of this sweep and of earlier ones, and the
// pick among them. A final decides, and other problems go on while it is held: it waits for a GPU
// like a measurement. Until it is over, the fastest single measurement is the pick of a problem
// that had none. So what other problems start with does not depend on when a final ends.
//
// All arguments must outlive the object. One thread.

#pragma once

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
  // `view` has the problem's default; it gets the winner.
  Contenders(SweepShared& shared, const PlannedProblem& planned, const KnownResults& results,
             TunedView& view)
      : shared_(shared), planned_(planned), results_(results), view_(view) {}

  void recall(const VariantState& state);  // of an earlier sweep, which the summary may not count
  void add(const VariantState& state);     // that the summary has counted
  bool has(const std::string& variant) const { return all_.contains(variant); }
  std::size_t size() const { return all_.size(); }

  const VariantState& at(const std::string& variant) const { return all_.at(variant); }
  const VariantState* best() const;        // nullptr if there are none
  const VariantState* of_default() const;  // nullptr if it did not pass

  // Those that a final would be held among.
  std::vector<OutcomeRecord> finalists() const;

  // Which finals count. A problem of which this process has a part only, and one for rules, has no
  // final in any case.
  enum class Finals : std::uint8_t { known, all };

  // Picks the winner: at once, or when the final is over. `has_results`: this sweep has some of the
  // problem. Without any and without contenders the pick of the store stays.
  Status begin_pick(Finals finals, bool has_results);

  // While the final is held.
  bool is_deciding() const { return final_.has_value(); }
  bool awaits(std::int64_t request) const { return final_ && final_->awaits() == request; }
  Status take(const WorkReply& reply);
  void forget_final() { final_.reset(); }  // the measure pool has failed

 private:
  Status move_on();
  Status finish(FinalResult result);
  Status expel(const OutcomeRecord& culprit);
  std::vector<OutcomeRecord> records() const;

  SweepShared& shared_;
  const PlannedProblem& planned_;
  const KnownResults& results_;
  TunedView& view_;
  std::map<std::string, VariantState> all_;
  std::set<std::string> counted_;  // texts of those that the summary has counted
  std::optional<Final> final_;
  bool has_results_ = false;
};

}  // namespace mgtune
