#include "analysis/pareto_front.h"

#include <algorithm>
#include <cstddef>

namespace mgtune {
namespace {

bool dominates(const FinalistRecord& a, const FinalistRecord& b) {
  const bool is_as_good = a.median_ns <= b.median_ns && a.energy_j <= b.energy_j;
  return is_as_good && (a.median_ns < b.median_ns || a.energy_j < b.energy_j);
}

}  // namespace

bool has_energy(const FinalRecord& final) {
  return !final.finalists.empty() &&
         std::ranges::all_of(final.finalists,
                             [](const FinalistRecord& finalist) { return finalist.energy_j > 0; });
}

std::vector<bool> pareto_front(const FinalRecord& final) {
  std::vector<bool> front(final.finalists.size(), false);
  if (!has_energy(final)) return front;
  for (std::size_t i = 0; i < front.size(); ++i) {
    front[i] = std::ranges::none_of(final.finalists, [&](const FinalistRecord& other) {
      return dominates(other, final.finalists[i]);
    });
  }
  return front;
}

}  // namespace mgtune
