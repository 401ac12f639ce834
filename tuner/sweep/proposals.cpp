#include "sweep/proposals.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace mgtune {
namespace {

// How many points, and beginnings of points, a search without a time budget may look at before it
// finds another variant. It takes some seconds, and is more than the largest space that is listed
// as a whole has. Without this limit, a search for a variant that does not exist would walk through
// 10^15 points.
constexpr std::uint64_t kMaxLooked = std::uint64_t{1} << 26U;

}  // namespace

Result<Proposals> Proposals::make(const SweepShared& shared, const PlannedProblem& planned,
                                  const std::vector<Variant>& ranked) {
  const bool has_deadline = shared.options.budget.seconds.has_value();
  auto limit = std::make_shared<WalkLimit>(
      has_deadline ? std::numeric_limits<std::uint64_t>::max() : kMaxLooked, shared.should_stop);
  MGTUNE_ASSIGN(auto search, make_search(shared.options.strategy, planned.visited(),
                                         shared.options.seed, {}, limit, ranked));
  Proposals proposals(*planned.problem.op, std::move(limit), std::move(search));
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
    std::optional<Variant> variant = search_->next();
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
