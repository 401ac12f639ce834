// ProblemSweep: one problem of a sweep. It asks the search for variants, keeps a limited number of
// them in progress, and adds each result to the journal, which SweepLoop writes. At the end of its
// turn a winner is picked from all results of the problem, including those of earlier sweeps
// (contenders.h). If this needs a final, the problem is "deciding", and other problems have their
// turns meanwhile.
//
//   wanted -> compiling -> ready -> measuring -> finished
//
// If a signal from outside ends the measure worker during a variant, the variant is a suspect
// (suspects.h). If the machine turns out to be at fault, the sweep ends, and no suspect is
// recorded.
//
// A variant that the search wants is finished at once if its result is known, and is not compiled
// if its build is known.
//
// At any time one problem of the sweep has its turn. The next one may work ahead: its variants
// compile when the problem with the turn wants no more, and all GPUs except the first one may
// measure them. Working ahead does not change the results: a search proposes the same variants in
// the same order. SweepLoop advances both problems and passes them the replies of the workers. One
// thread.

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

#include "sweep/contenders.h"
#include "sweep/known_results.h"
#include "sweep/planned_problem.h"
#include "sweep/proposals.h"
#include "sweep/same_code.h"
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

  // The problem begins to work: in its turn, which lasts until `deadline`, or ahead of its turn.
  // Known results are finished at once. If these functions are called again after the end of a
  // turn, the problem continues where it stopped.
  Status begin_turn(std::optional<std::chrono::steady_clock::time_point> deadline,
                    const OnVariant& on_variant);
  Status begin_ahead();

  // Limit the next turn: it ends after the default has its result, or after `evaluations` further
  // variants, and the problem can have another turn later. The picks of such turns come from single
  // measurements or from a final that the store has, until hold_final_now() is called. A turn that
  // limit_to() limits begins with the picks of nearby problems.
  void limit_to_default();
  Status limit_to(std::optional<std::int64_t> evaluations);
  Status hold_final_now();

  // Moves variants to their next stages, as far as this needs no reply of a worker. `window`: how
  // many variants may be in progress.
  Status advance(std::size_t window);

  // Whether the problem may want further variants in this turn, and whether the turn ends early,
  // because of the deadline or because the sweep should stop.
  bool wants_more();
  bool stopping();
  // Whether the turn waits for nothing any more. It waits for its measurements in any case, but for
  // compilations only if there is time left.
  bool waits_for_nothing();
  std::optional<std::chrono::steady_clock::time_point> wakes_at() const;

  // If the search is working in the background (proposals.h): join() adds what take_thought() waits
  // for.
  void join(WaitSet& waiting) const { proposals_.join(waiting); }
  void take_thought() { proposals_.take_thought(); }

  GpuPhase idle_cause() const;  // why a GPU measures no variant of this problem

  // Call probe_suspects() when nothing else is in progress. It finds out whether the suspects are
  // to blame.
  bool has_suspects() const { return !suspects_.empty(); }
  Status probe_suspects();

  // Whether the problem waits for this request. Another problem may wait for the same build.
  bool awaits(std::int64_t request) const;
  bool compiles(std::int64_t request) const;  // and the cache lacks the build
  Status take_build(const WorkReply& reply);
  Status take_measurement(const WorkReply& reply);
  void forget_measurements();  // and the final, because the measure pool has failed

  // The requests to the compile pool that the problem waits for.
  std::set<std::int64_t> awaited_builds() const;

  // Call it at the end of every turn. It picks a winner, or begins a final.
  Status end_turn();

  // Whether its final waits for a GPU or is being held.
  bool is_deciding() const { return contenders_.is_deciding(); }

  // In the next turn the problem evaluates these variants first, in addition to the budget's number
  // of evaluations. Variants that the problem does not admit, or whose result is known, are left
  // out.
  Status want_too(const std::vector<Variant>& variants);

  std::size_t at_work() const;  // the number of variants in all stages
  // How many of its variants a compile process may get as one group.
  std::size_t most_together() const;
  std::int64_t done() const { return done_; }
  bool stopped() const { return stopped_; }  // by the deadline or should_stop()
  bool is_over();                            // it has no variants left to try in any turn
  bool is_measuring() const { return !measuring_.empty(); }
  const Contenders& contenders() const { return contenders_; }
  const TunedView& view() const { return view_; }
  bool stopped_by_target() const { return settled_ && !proposals_.exhausted(); }
  bool found_any() const { return done_ > 0 || proposals_.has_proposed(); }
  std::uint64_t looked_in_vain() const { return proposals_.looked_in_vain(); }
  bool supports_nothing() const { return done_ > 0 && unsupported_ == done_; }

 private:
  // Whether the problem waits, works ahead of its turn, or has its turn.
  enum class Stage : std::uint8_t { waiting, ahead, turn };

  // Where a finished variant's results come from.
  enum class Origin : std::uint8_t { store, build, measurement };

  ProblemSweep(SweepShared& shared, const PlannedProblem& planned, KnownResults results,
               Proposals proposals, TunedView view);

  Status recall();

  Status begin();
  Status start_warm();

  // The steps that move variants from stage to stage.
  Status want_more(std::size_t window);
  Status want(const Variant& variant);
  void compile_finalists();
  void compile(VariantState state);
  std::optional<std::string> group_of(const VariantState& state);
  Status make_ready(VariantState state);
  Status measure_ready();
  bool needs_ceilings() const;
  Status measure_ceilings_once();  // the ones that the problem needs, unless they are known
  Status charge_suspects();
  Status finish(const VariantState& state, Origin origin);
  Status finish_same(const VariantState& state);

  Status record(const VariantState& state, Origin origin);
  Status record_space();
  Status begin_pick();

  bool has_more();
  bool settled();
  bool discards(const WorkReply& reply);
  bool is_recorded(const VariantState& state) const;
  bool is_default(const VariantState& state) const;
  // Whether the other variants must wait until the default has its result, or until a GPU is idle.
  bool waits_for_default(MeasurePool::Place place) const;
  VariantRequest request(const VariantState& state) const;

  SweepShared& shared_;
  const PlannedProblem& planned_;
  const Problem& problem_;  // the planned one
  KnownResults results_;
  Proposals proposals_;
  TunedView view_;  // the row of the pick; the winner is filled in at the end
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  OnVariant on_variant_;

  std::map<std::string, OutcomeView> recorded_;  // rows of earlier runs, by variant text
  std::vector<VariantState> recalled_;           // the valid rows, until they are reused
  Contenders contenders_;

  // The variants that were proposed but are not recorded yet, by what they wait for. Variants with
  // the same build wait for one request.
  std::map<std::int64_t, std::vector<VariantState>> compiling_;  // by request
  SameCode same_code_;
  std::deque<VariantState> ready_;
  std::map<std::int64_t, VariantState> measuring_;  // by request
  Suspects suspects_;

  Stage stage_ = Stage::waiting;
  bool has_begun_ = false;  // in this turn
  std::int64_t requested_ = 0, done_ = 0, unsupported_ = 0, wanted_too_ = 0;
  bool stopped_ = false, settled_ = false, has_ceilings_ = false;
  std::optional<std::int64_t> left_in_turn_;  // variants; nullopt: no limit
  bool awaits_search_ = false;                // a turn for the default alone
  bool postpones_final_ = false;
};

}  // namespace mgtune
