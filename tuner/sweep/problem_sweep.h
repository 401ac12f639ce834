// ProblemSweep: one problem of a sweep. It asks the search for variants, keeps a bounded number of
// them at work, and records each in a transaction of its own. Then it picks a winner from all
// results of the problem, including those of earlier sweeps.
//
//   wanted -> compiling -> ready -> measuring -> finished
//
// A variant that ends the measure worker by a signal from outside is a suspect (suspects.h). If the
// machine turns out to be at fault, the sweep ends, and no suspect is recorded.
//
// A variant that the search wants is finished at once if its result is known, and is not compiled
// if its build is known. One thread moves all variants on: it waits for the next compile or measure
// worker that has a result, so that both kinds work at the same time.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sweep/known_results.h"
#include "sweep/planned_problem.h"
#include "sweep/proposals.h"
#include "sweep/suspects.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

class ProblemSweep {
 public:
  // Called after every variant.
  using OnVariant = std::function<void(const ProblemSweep&)>;

  // All arguments must outlive the object.
  static Result<std::unique_ptr<ProblemSweep>> make(SweepShared& shared,
                                                    const PlannedProblem& planned);

  // It ends if all variants or all evaluations of the budget are done, if the target is reached,
  // after `deadline`, or if should_stop() returns true. It picks a winner in every case. If it is
  // called again, it continues where it ended.
  Status run(std::optional<std::chrono::steady_clock::time_point> deadline,
             const OnVariant& on_variant);

  // The next run() evaluates these too, first and beyond the budget's number of evaluations. Those
  // that the problem does not admit, or whose result is known, are left out.
  Status want_too(const std::vector<Variant>& variants);

  std::int64_t done() const { return done_; }
  bool stopped() const { return stopped_; }  // by the deadline or should_stop()
  bool stopped_by_target() const { return settled_ && !proposals_.exhausted(); }
  bool found_any() const { return done_ > 0 || proposals_.has_proposed(); }
  std::uint64_t looked_in_vain() const { return proposals_.looked_in_vain(); }
  bool supports_nothing() const { return done_ > 0 && unsupported_ == done_; }
  const VariantState* best() const;  // nullptr while none passed

 private:
  // Where a finished variant's results come from.
  enum class Origin : std::uint8_t { store, build, measurement };

  ProblemSweep(SweepShared& shared, const PlannedProblem& planned, KnownResults results,
               Proposals proposals, TunedView view);

  Status recall();

  // The steps of the loop. They move variants from stage to stage.
  Status want_more();
  Status want(const Variant& variant);
  void compile_finalists();
  void compile(VariantState state);
  Status measure_ready();
  Status measure_ceilings_once();
  void make_silence();
  void wait();
  Status receive_builds();
  Status receive_measurements();
  Status charge_suspects();
  Status probe_suspects();
  Status finish(const VariantState& state, Origin origin);

  Status record(const VariantState& state, Origin origin);
  Status record_space();
  Status pick();
  std::vector<OutcomeRecord> contenders() const;
  Status expel(const OutcomeRecord& culprit);

  bool stopping();
  bool settled();
  bool discards(const WorkReply& reply);
  Status interrupted_or(Status failure) const;
  bool is_recorded(const VariantState& state) const;
  bool is_default(const VariantState& state) const;
  bool is_default_on_its_way() const;  // it is compiling or being measured
  std::size_t at_work() const;         // the number of variants in all stages
  VariantRequest request(const VariantState& state) const;

  SweepShared& shared_;
  const PlannedProblem& planned_;
  const Problem& problem_;  // the planned one
  KnownResults results_;
  Proposals proposals_;
  TunedView view_;  // of the pick; the winner is filled in at the end
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  OnVariant on_variant_;

  std::map<std::string, OutcomeView> recorded_;  // rows of earlier runs, by variant text
  std::vector<VariantState> recalled_;           // the valid ones of them, until they are reused
  std::map<std::string, VariantState> contenders_;
  std::set<std::string> counted_;  // texts of the contenders that the summary has counted

  // The variants that were proposed and that are not recorded yet, by what they wait for.
  // Those with the same build compile together.
  std::map<std::int64_t, std::vector<VariantState>> compiling_;  // by request
  std::deque<VariantState> ready_;
  std::map<std::int64_t, VariantState> measuring_;  // by request
  Suspects suspects_;

  std::int64_t requested_ = 0, done_ = 0, unsupported_ = 0, wanted_too_ = 0;
  bool stopped_ = false, settled_ = false, has_ceilings_ = false;
};

}  // namespace mgtune
