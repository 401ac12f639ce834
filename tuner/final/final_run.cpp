#include "final/final_run.h"

#include <algorithm>
#include <chrono>

#include "timing/timer.h"

namespace mgtune {
namespace {

// How much longer than their own time the launches may take: some rounds are warm-up or are
// repeated because of the clocks, and a sample may be several launches.
constexpr double kAllowance = 4;
constexpr double kMoreRounds = 2;

std::chrono::milliseconds launches_time(std::span<const Contender> entries) {
  double round_s = 0;
  for (const Contender& entry : entries) round_s += entry.median_ns / 1e9;
  const TurnBudget budget;
  const double rounds = static_cast<double>(budget.min_rounds) + kMoreRounds;
  const std::chrono::duration<double> time(kAllowance *
                                           std::max(budget.max_seconds, rounds * round_s));
  return std::chrono::ceil<std::chrono::milliseconds>(time);
}

}  // namespace

Result<WorkReply> run_final(SweepShared& shared, const TunedView& view,
                            std::span<const Contender> entries, std::optional<std::size_t> twice) {
  FinalRequest work{{shared.options.kernel_of(view.op), view.op, view.problem}, {}};
  for (const Contender& entry : entries) work.variants.push_back(entry.variant);
  if (twice.has_value()) work.variants.push_back(entries[*twice].variant);
  return shared.workers.measure({shared.next_request++, std::move(work)}, launches_time(entries));
}

bool is_broken_off(const WorkReply& reply) {
  return reply.outcome == Outcome::crashed || reply.outcome == Outcome::timeout ||
         reply.outcome == Outcome::launch_failed;
}

std::vector<Expelled> find_culprits(SweepShared& shared, const TunedView& view,
                                    std::span<const Contender> entries) {
  std::vector<Expelled> culprits;
  for (std::size_t i = 0; i < entries.size() && !shared.should_stop(); ++i) {
    const Result<WorkReply> reply = run_final(shared, view, entries.subspan(i, 1), std::nullopt);
    if (!reply.ok() || !is_broken_off(*reply) || shared.should_stop()) continue;
    culprits.push_back(
        {entries[i].variant, reply->outcome,
         "in the final, after it had passed its check and been measured: " + reply->message});
  }
  if (culprits.size() == entries.size()) culprits.clear();
  return culprits;
}

}  // namespace mgtune
