// Proposals: decides which variant of a problem a sweep evaluates next. The default comes first if
// it has no result yet. Then come the variants that --retry names, and then the variants that the
// search proposes, without those whose results are known. If an exhaustive search is limited only
// by time, it proposes all variants, and CompileOrder puts them in order.
//
// A search does its long work on a separate thread (Search::long_work), so that the loop of the
// sweep can serve the workers meanwhile. Results that are reported during this work reach the
// search when the work is done. One thread uses an object.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "search/search.h"
#include "sweep/background_work.h"
#include "sweep/compile_order.h"
#include "sweep/planned_problem.h"
#include "sweep/sweep_shared.h"

namespace mgtune {

class Proposals {
 public:
  // Fails as make_search() does. `planned` must outlive the object.
  // `ranked`: what an adaptive search begins with, best first.
  static Result<Proposals> make(const SweepShared& shared, const PlannedProblem& planned,
                                const std::vector<Variant>& ranked);

  // Tells the search where to start. Until this function is called, a strategy that starts warm
  // proposes only the variants that every search starts with, because the picks of earlier problems
  // are part of a warm start. Call it once.
  void start_warm(const WarmStart& warm_start);
  bool awaits_warm_start() const { return awaits_warm_start_; }

  // From now on the search does not propose the variant with this text. False if it was excluded
  // before.
  bool exclude(const std::string& variant) { return excluded_.insert(variant).second; }
  void include(const std::string& variant) { excluded_.erase(variant); }
  bool excludes(const std::string& variant) const { return excluded_.contains(variant); }

  // Proposes this variant before those of the search. The caller must also exclude() it.
  void retry(Variant variant) {
    retried_.push_back(std::move(variant));
    exhausted_ = false;
  }
  std::size_t retries() const { return retried_.size(); }

  // Says which variant is the default. Call it after all functions above. The default comes first,
  // whether it is retried or proposed by the search. If it is excluded, its result is known.
  void set_default(const std::string& variant);

  // The next variant. nullopt if there is no other variant or the search looked for one for too
  // long (both are exhausted()), if the deadline or the user stopped the search, if the search
  // waits for its warm start, or if it is_thinking().
  std::optional<Variant> next(std::optional<std::chrono::steady_clock::time_point> deadline);

  bool is_thinking() const { return thought_->is_at_work(); }
  void take_thought();                // ends is_thinking() if the search is done
  void join(WaitSet& waiting) const;  // adds what take_thought() waits for

  void report(const Evaluation& evaluation);  // to the search
  // Reports how long a compiler took for the variant.
  void report_compiled(const Variant& variant, double seconds);
  // How long a compiler will probably take for the variant; nullopt if this is not known.
  std::optional<double> likely_seconds(const Variant& variant);

  // Whether the search proposes the same variants, no matter what the results are and when they are
  // reported.
  bool in_any_order() const { return in_any_order_; }

  // mgtune::is_reached(). False while is_thinking(): nobody can ask the search.
  bool is_reached(double target) const;

  bool exhausted() const { return exhausted_; }

  bool has_proposed() const { return has_proposed_; }  // next() has found a variant

  // How many points and prefixes of points the search looked at in vain before it gave up. 0 if it
  // did not give up.
  std::uint64_t looked_in_vain() const { return looked_in_vain_; }

  Proposals(Proposals&&) = default;
  // An assignment would destroy the search before its thread ends.
  Proposals& operator=(Proposals&&) = delete;

  // For tests: uses this search, which does not wait for a warm start.
  Proposals(const Operator& op, std::shared_ptr<WalkLimit> limit, std::unique_ptr<Search> search,
            std::optional<CompileOrder> order = {})
      : op_(&op), limit_(std::move(limit)), search_(std::move(search)), order_(std::move(order)) {}

 private:
  std::optional<Variant> next_of_search(
      std::optional<std::chrono::steady_clock::time_point> deadline);

  const Operator* op_;
  std::shared_ptr<WalkLimit> limit_;  // of the search
  std::unique_ptr<Search> search_;
  std::optional<CompileOrder> order_;  // for what the search proposes after its start
  std::set<std::string> excluded_;
  std::deque<Variant> retried_;
  bool lacks_default_ = false;  // the search proposes the default first
  bool exhausted_ = false, has_proposed_ = false, awaits_warm_start_ = false;
  bool in_any_order_ = false;
  std::uint64_t looked_in_vain_ = 0;
  std::vector<Evaluation> unreported_;  // since the search began to think
  // The last member, because it uses the search.
  std::unique_ptr<BackgroundWork> thought_ = std::make_unique<BackgroundWork>();
};

}  // namespace mgtune
