#include "fit/loss_table.h"

#include <algorithm>

namespace mgtune {

double loss_of_ranking(const LossTable& table, std::size_t problem,
                       std::span<const std::size_t> ranking) {
  for (const std::size_t variant : ranking) {
    if (table.serves(problem, variant)) return table.loss(problem, variant);
  }
  return table.ladder[problem];
}

LossSummary summary_of(std::vector<double> losses) {
  LossSummary summary;
  if (losses.empty()) return summary;
  std::ranges::sort(losses);
  const std::size_t count = losses.size();
  summary.problems = static_cast<std::int64_t>(count);
  summary.median = (losses[(count - 1) / 2] + losses[count / 2]) / 2;
  // The smallest loss that at least 95 % of the problems do not exceed.
  summary.percentile_95 = losses[(count * 95 + 99) / 100 - 1];
  summary.worst = losses.back();
  return summary;
}

}  // namespace mgtune
