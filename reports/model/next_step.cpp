#include "model/next_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "model/one_parameter_changes.h"
#include "model/pick_peers.h"
#include "store/import.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr double kNearCeiling = 0.95;
constexpr double kLateShare = 0.75;  // of the evaluations: a best that comes later may not be last
constexpr std::size_t kMostUntried = 4;

bool can_repeat(const ReportModel& model, const ReportPick& pick) {
  return std::ranges::any_of(model.sweeps, [&](const SweepView& view) {
    return view.sweep.id == pick.view.tuned.sweep && view.sweep.strategy != kImportStrategy;
  });
}

// Whether the search ended while it still found something.
bool is_found_late(const ReportAnalysis& analysis, const ReportPick& pick) {
  const auto curve = std::ranges::find_if(analysis.best_so_far, [&](const BestSoFar& each) {
    return each.problem == pick.problem && each.method == pick.view.tuned.method;
  });
  if (curve == analysis.best_so_far.end() || curve->steps.size() < 2) return false;
  return static_cast<double>(curve->steps.back().evaluation) >
         kLateShare * static_cast<double>(curve->evaluations);
}

struct Search {
  std::size_t tried = 0;
  std::int64_t admissible = 0;  // 0: not known
};

Search search_of(const ReportModel& model, const ReportPick& pick) {
  const ReportProblem& problem = model.problems[pick.problem];
  Search search;
  for (const ReportVariant& variant : model.variants_of(problem)) {
    const bool is_other =
        variant.view.measurement && variant.view.measurement->method != pick.view.tuned.method;
    search.tried += is_other ? 0 : 1;
  }
  for (const SpaceView& view : model.spaces) {
    if (view.gpu_id != problem.gpu_id || view.op != problem.op || view.problem != problem.problem) {
      continue;
    }
    if (!view.space.counted) return {search.tried, 0};
    search.admissible += view.space.admissible;
  }
  return search;
}

// " Beside the pick, STAGES=4 and 3 other values of one parameter were not tried."
std::string untried_text(std::vector<std::string> untried) {
  if (untried.empty()) return "";
  const std::size_t left_out = untried.size() - std::min(untried.size(), kMostUntried);
  untried.resize(untried.size() - left_out);
  return fmt::format(
      " With all else as in the pick, {}{} {} not tried, or a constraint rules {} out.",
      fmt::join(untried, ", "), left_out == 0 ? "" : fmt::format(" and {} more", left_out),
      untried.size() + left_out == 1 ? "was" : "were",
      untried.size() + left_out == 1 ? "it" : "them");
}

}  // namespace

NextStep next_step(const ReportModel& model, const ReportAnalysis& analysis,
                   const ReportPick& pick) {
  using Command = NextStep::Command;
  if (pick.view.gpu.emulation) {
    return {"Sweep it on a GPU: what won here says nothing about one.", Command::sweep_on_gpu};
  }
  const bool repeats = can_repeat(model, pick);
  if (repeats && is_found_late(analysis, pick)) {
    return {
        "The best came late in the search. The same command, with a longer --budget, goes on from "
        "there:",
        Command::repeat_sweep};
  }
  const std::vector<CeilingShare> shares = ceiling_shares(pick);
  if (!shares.empty() && shares.front().fraction >= kNearCeiling) {
    return {fmt::format(
        "Stop tuning this shape: at {} little is left. Only work that is left out would help, for "
        "example if this kernel also did what the one before it or after it does. Or sweep "
        "another shape.",
        share_text(shares.front()))};
  }
  if (!pick.peers.empty() && pick.peers.front().median_ns < pick.view.tuned.median_ns) {
    return {fmt::format("Use {} for this problem until a variant is found that beats its {}.",
                        peer_name(pick.peers.front()), time_text(pick.peers.front().median_ns))};
  }
  if (pick.imported && model.problems[pick.problem].count == 0) {
    return {"Only the pick was imported. A sweep says what the other variants take:",
            Command::first_sweep};
  }
  const Search search = search_of(model, pick);
  const bool is_whole =
      search.admissible > 0 && search.tried >= static_cast<std::size_t>(search.admissible);
  if (repeats && !is_whole) {
    const std::string tried =
        search.admissible > 0
            ? fmt::format("{} of {} admissible variants were tried.", search.tried,
                          search.admissible)
            : fmt::format("{} tried.", counted(search.tried, "variant") +
                                           (search.tried == 1 ? " was" : " were"));
    return {fmt::format("{}{} A sweep with a longer --budget goes on from there:", tried,
                        untried_text(untried_changes(model, analysis, pick))),
            Command::repeat_sweep};
  }
  const bool is_counted = pick.row && !model.variants[*pick.row].counters.empty();
  if (!is_counted && !pick.imported) {
    return {"Count what limits the pick (most drivers let only root read the counters):",
            Command::count};
  }
  if (is_whole) {
    return {fmt::format(
        "All {} admissible variants were tried, so only another design or another shape can be "
        "faster.",
        search.admissible)};
  }
  return {};
}

}  // namespace mgtune
