#include "compare/baseline.h"

#include <algorithm>
#include <tuple>

namespace mgtune {
namespace {

bool same_place(const ReportPick& a, const ReportPick& b) {
  return is_same_gpu(a.view.gpu, b.view.gpu) && a.view.op == b.view.op &&
         a.view.problem == b.view.problem && a.view.tuned.method == b.view.tuned.method;
}

// Whether both picks are of one sweep, and so of the same samples.
bool is_one_measurement(const ReportPick& a, const ReportPick& b) {
  const auto figures = [](const ReportPick& pick) {
    const TunedRecord& tuned = pick.view.tuned;
    return std::tie(tuned.variant, tuned.build_sha256, tuned.median_ns, tuned.default_median_ns,
                    pick.low_ns, pick.high_ns, pick.noise_floor);
  };
  return figures(a) == figures(b);
}

TimeEstimate time_of(const ReportPick& pick) {
  return {pick.view.tuned.median_ns, pick.low_ns.value_or(0), pick.high_ns.value_or(0),
          pick.noise_floor.value_or(0)};
}

}  // namespace

std::vector<std::optional<BaselinePick>> against_baseline(const ReportModel& model,
                                                          const ReportModel& baseline) {
  std::vector<std::optional<BaselinePick>> result(model.picks.size());
  std::vector<TimedPair> pairs;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < model.picks.size(); ++i) {
    const ReportPick& pick = model.picks[i];
    const auto found = std::ranges::find_if(
        baseline.picks, [&](const ReportPick& other) { return same_place(other, pick); });
    if (found == baseline.picks.end()) continue;
    const TunedRecord& old = found->view.tuned;
    if (old.median_ns <= 0 || pick.view.tuned.median_ns <= 0) continue;
    result[i] = BaselinePick{old.variant, old.median_ns};
    pairs.push_back({time_of(*found), time_of(pick),
                     pick.view.gpu.emulation ? Clock::host : Clock::gpu,
                     is_one_measurement(*found, pick)});
    places.push_back(i);
  }
  const Judgement judgement = judge(pairs);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Difference& difference = judgement.differences[i];
    BaselinePick& pick = *result[places[i]];
    pick.speedup = 1 / (1 + difference.change);
    pick.speedup_low = 1 / (1 + difference.high);
    pick.speedup_high = 1 / (1 + difference.low);
    pick.verdict = difference.verdict;
  }
  return result;
}

}  // namespace mgtune
