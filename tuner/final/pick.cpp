#include "final/pick.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "family/variant.h"
#include "sweep/sweep_shared.h"

namespace mgtune {
namespace {

constexpr double kSmallestGain = 0.01;

bool is_faster(const OutcomeRecord& a, const OutcomeRecord& b) {
  return std::tie(a.measurement->median_ns, a.variant) <
         std::tie(b.measurement->median_ns, b.variant);
}

bool is_preferred(const OutcomeRecord& a, const OutcomeRecord& b) {
  return std::tie(a.build.registers, a.variant) < std::tie(b.build.registers, b.variant);
}

// The variant that runs the problem untuned: the first of the ladder that is admissible.
std::string default_variant_text(const Space& space) {
  const std::vector<Variant> ladder = space.ladder();
  return ladder.empty() ? "" : variant_text(space.op(), ladder.front());
}

bool same_pick(const TunedRecord& a, const TunedRecord& b) {
  return a.gpu == b.gpu && a.problem == b.problem && a.method == b.method &&
         a.variant == b.variant && a.build_sha256 == b.build_sha256 &&
         a.default_variant == b.default_variant && a.median_ns == b.median_ns &&
         a.default_median_ns == b.default_median_ns && a.tie == b.tie;
}

}  // namespace

bool beats(const OutcomeRecord& a, const OutcomeRecord& b) {
  const double limit_ns = b.measurement->median_ns * (1 - kSmallestGain);
  return a.measurement->q3_ns < b.measurement->q1_ns && a.measurement->median_ns < limit_ns;
}

std::optional<Pick> pick_winner(std::span<const OutcomeRecord> contenders,
                                const std::string& default_variant) {
  if (contenders.empty()) return std::nullopt;
  const OutcomeRecord& fastest = *std::ranges::min_element(contenders, is_faster);
  const auto standard = std::ranges::find(contenders, default_variant, &OutcomeRecord::variant);
  const bool has_default = standard != contenders.end();
  const double default_ns = has_default ? standard->measurement->median_ns : 0;
  if (has_default && !beats(fastest, *standard)) {
    return Pick{*standard, default_ns, &fastest != &*standard};
  }
  const OutcomeRecord* winner = &fastest;
  for (const OutcomeRecord& contender : contenders) {
    const bool eligible = !has_default || beats(contender, *standard);
    if (eligible && !beats(fastest, contender) && is_preferred(contender, *winner)) {
      winner = &contender;
    }
  }
  return Pick{*winner, default_ns, false};
}

Result<TunedView> view_before_pick(SweepShared& shared, const Problem& problem,
                                   const Space& space) {
  const Operator& op = *problem.op;
  TunedView view;
  view.gpu = shared.gpu;
  view.op = op.full_name();
  view.problem = problem.text();
  MGTUNE_ASSIGN(const std::int64_t bytes, op.bytes.evaluate(problem.slots));
  MGTUNE_ASSIGN(const std::int64_t flops, op.flops.evaluate(problem.slots));
  view.bytes = static_cast<double>(bytes);
  view.flops = static_cast<double>(flops);
  view.tuned.gpu = shared.gpu_id;
  MGTUNE_ASSIGN(view.tuned.problem,
                shared.store.problem_id(view.op, view.problem, view.bytes, view.flops));
  view.tuned.default_variant = default_variant_text(space);
  view.tuned.method = shared.options.method.name;
  return view;
}

Status record_pick(SweepShared& shared, const std::optional<Pick>& pick, TunedView& view) {
  TunedRecord& tuned = view.tuned;
  if (!pick.has_value()) {
    return shared.store.withdraw_tuned(tuned.gpu, tuned.problem, tuned.method);
  }
  tuned.variant = pick->winner.variant;
  tuned.build_sha256 = pick->winner.build.sha256;
  tuned.median_ns = pick->winner.measurement->median_ns;
  tuned.default_median_ns = pick->default_median_ns;
  tuned.tie = pick->tie;

  MGTUNE_ASSIGN(const std::vector<TunedView> stored, shared.store.tuned(view.op));
  const auto same = std::find_if(stored.begin(), stored.end(),
                                 [&](const TunedView& row) { return same_pick(row.tuned, tuned); });
  if (same != stored.end()) {
    tuned.sweep = same->tuned.sweep;
    if (view.copy_ns == 0) view.copy_ns = same->copy_ns;
  } else {
    MGTUNE_ASSIGN(tuned.sweep, shared.journal.begin());
    MGTUNE_TRY(shared.store.record_tuned(tuned));
  }
  // An earlier run() may have picked as well.
  std::erase_if(shared.summary.picks, [&](const TunedView& earlier) {
    return earlier.op == view.op && earlier.problem == view.problem;
  });
  shared.summary.picks.push_back(view);
  return {};
}

}  // namespace mgtune
