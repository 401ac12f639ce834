#include "sweep/proposals.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace mgtune {
namespace {

// How many points, and prefixes of points, a search without a time budget may look at before it
// finds another variant. This takes some seconds. The limit is larger than the largest space that
// is listed as a whole. Without this limit, a search for a variant that does not exist would walk
// through 10^15 points.
constexpr std::uint64_t kMaxLooked = std::uint64_t{1} << 26U;

// The largest set that CompileOrder is used for: for each variant that it returns, it looks at all
// that are left.
constexpr std::uint64_t kMostOrdered = 8192;

// Whether results neither change what is proposed next nor end the search.
bool learns_nothing(const SweepShared& shared) {
  return shared.options.strategy == "exhaustive" && !shared.options.target.has_value();
}

bool visits_all(const SweepShared& shared, const PlannedProblem& planned) {
  return learns_nothing(shared) && !max_evaluations(shared.options, planned).has_value() &&
         planned.counted && planned.admissible <= kMostOrdered;
}

}  // namespace

Result<Proposals> Proposals::make(const SweepShared& shared, const PlannedProblem& planned,
                                  const std::vector<Variant>& ranked) {
  const bool has_deadline = shared.options.budget.seconds.has_value();
  auto limit = std::make_shared<WalkLimit>(
      has_deadline ? std::numeric_limits<std::uint64_t>::max() : kMaxLooked, shared.should_stop);
  MGTUNE_ASSIGN(auto search, make_search(shared.options.strategy, planned.visited(),
                                         shared.options.seed, {}, limit, ranked));
  Proposals proposals(*planned.problem.op, std::move(limit), std::move(search));
  if (visits_all(shared, planned)) proposals.order_.emplace(shared.pool.size());
  proposals.in_any_order_ = learns_nothing(shared);
  proposals.awaits_warm_start_ = starts_warm(shared.options.strategy);
  return proposals;
}

void Proposals::start_warm(const WarmStart& warm_start) {
  awaits_warm_start_ = false;
  search_->start_warm(warm_start);
}

void Proposals::set_default(const std::string& variant) {
  std::stable_partition(retried_.begin(), retried_.end(), [&](const Variant& retried) {
    return variant_text(*op_, retried) == variant;
  });
  lacks_default_ = !variant.empty() && !excludes(variant);
}

std::optional<Variant> Proposals::next(
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  const bool begins_with_default = std::exchange(lacks_default_, false);
  if (!retried_.empty() && !begins_with_default) {
    Variant variant = std::move(retried_.front());
    retried_.pop_front();
    has_proposed_ = true;
    return variant;
  }
  take_thought();
  if (is_thinking()) return std::nullopt;
  while (!awaits_warm_start_ || search_->is_at_start()) {
    limit_->restart(deadline);
    if (const std::function<void()> long_work = search_->long_work()) {
      thought_->start(long_work);
      return std::nullopt;
    }
    std::optional<Variant> variant = next_of_search(deadline);
    if (!variant.has_value()) {
      exhausted_ = limit_->end() != WalkLimit::End::stopped;
      if (limit_->end() == WalkLimit::End::steps) looked_in_vain_ = limit_->steps();
      return std::nullopt;
    }
    has_proposed_ = true;
    if (!excludes(variant_text(*op_, *variant))) return variant;
  }
  return std::nullopt;
}

std::optional<Variant> Proposals::next_of_search(
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  if (!order_.has_value() || search_->is_at_start()) return search_->next();
  while (std::optional<Variant> variant = search_->next()) {
    if (!excludes(variant_text(*op_, *variant))) order_->add(*std::move(variant));
  }
  std::optional<double> seconds_left;
  if (deadline.has_value()) {
    seconds_left =
        std::chrono::duration<double>(*deadline - std::chrono::steady_clock::now()).count();
  }
  return order_->next(seconds_left);
}

void Proposals::report_compiled(const Variant& variant, double seconds) {
  if (order_.has_value()) order_->report(variant, seconds);
}

std::optional<double> Proposals::likely_seconds(const Variant& variant) {
  return order_.has_value() ? order_->likely_seconds(variant) : std::nullopt;
}

void Proposals::take_thought() {
  if (!thought_->take()) return;
  for (const Evaluation& evaluation : std::exchange(unreported_, {})) search_->report(evaluation);
}

void Proposals::join(WaitSet& waiting) const { thought_->join(waiting); }

void Proposals::report(const Evaluation& evaluation) {
  if (is_thinking()) return unreported_.push_back(evaluation);
  search_->report(evaluation);
}

bool Proposals::is_reached(double target) const {
  return !is_thinking() && mgtune::is_reached(target, *search_);
}

}  // namespace mgtune
