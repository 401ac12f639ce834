#include "fit/representatives.h"

#include <algorithm>

namespace mgtune {
namespace {

constexpr double kSmallestFitGain = 1e-6;  // of the mean cost; a smaller gain is rounding
constexpr std::size_t kMaxExchanges = 50;

class Exchange {
 public:
  Exchange(const LossTable& table, std::span<const std::size_t> problems)
      : table_(table), problems_(problems), costs_(problems.size() * table.variants) {
    for (std::size_t p = 0; p < problems.size(); ++p) {
      for (std::size_t v = 0; v < table.variants; ++v) {
        costs_[p * table.variants + v] = cost_of(table.loss_or_ladder(problems[p], v));
      }
    }
    smallest_gain_ = kSmallestFitGain * static_cast<double>(problems.size());
  }

  std::vector<std::size_t> choose(std::size_t count) {
    while (chosen_.size() < std::min(count, table_.variants) && add_best()) {
    }
    for (std::size_t i = 0; i < kMaxExchanges && exchange_best(); ++i) {
    }
    std::ranges::sort(chosen_);
    return chosen_;
  }

 private:
  double cost(std::size_t problem, std::size_t variant) const {
    return costs_[problem * table_.variants + variant];
  }

  // For each problem: the cost of the best chosen variant, the cost of the second best, and which
  // variant is the best. The ladder counts as chosen too. Where the ladder is the best, nearest_ is
  // the number of chosen variants.
  void rank() {
    const std::size_t count = problems_.size();
    best_.assign(count, 0);
    second_.assign(count, 0);
    nearest_.assign(count, 0);
    for (std::size_t p = 0; p < count; ++p) {
      double best = cost_of(table_.ladder[problems_[p]]), second = best;
      nearest_[p] = chosen_.size();
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        const double here = cost(p, chosen_[i]);
        if (here < best) {
          second = best;
          best = here;
          nearest_[p] = i;
        } else {
          second = std::min(second, here);
        }
      }
      best_[p] = best;
      second_[p] = second;
    }
  }

  bool add_best() {
    rank();
    double best_gain = smallest_gain_;
    std::size_t found = table_.variants;
    for (std::size_t v = 0; v < table_.variants; ++v) {
      double gain = 0;
      for (std::size_t p = 0; p < problems_.size(); ++p) {
        gain += std::max(best_[p] - cost(p, v), 0.0);
      }
      if (gain <= best_gain) continue;
      best_gain = gain;
      found = v;
    }
    if (found == table_.variants) return false;
    chosen_.push_back(found);
    return true;
  }

  // Replaces one variant by another if that lowers the total cost.
  bool exchange_best() {
    rank();
    const std::size_t count = chosen_.size();
    double best_gain = smallest_gain_;
    std::size_t out = count, in = 0;
    std::vector<double> gains(count);
    for (std::size_t v = 0; v < table_.variants; ++v) {
      double common = 0;  // the gain of adding v, if nothing is removed
      std::ranges::fill(gains, 0);
      for (std::size_t p = 0; p < problems_.size(); ++p) {
        const double here = cost(p, v);
        const double added = std::max(best_[p] - here, 0.0);
        common += added;
        if (nearest_[p] == count) continue;
        // If the best chosen variant is removed, the problem uses the second best variant or v.
        gains[nearest_[p]] += best_[p] - std::min(second_[p], here) - added;
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (common + gains[i] <= best_gain) continue;
        best_gain = common + gains[i];
        out = i;
        in = v;
      }
    }
    if (out == count) return false;
    chosen_[out] = in;
    return true;
  }

  const LossTable& table_;
  const std::span<const std::size_t> problems_;
  std::vector<double> costs_;  // problem by problem
  std::vector<std::size_t> chosen_;
  std::vector<double> best_, second_;
  std::vector<std::size_t> nearest_;  // indices into chosen_
  double smallest_gain_ = 0;
};

}  // namespace

std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::size_t> problems,
                                                std::size_t count) {
  return Exchange(table, problems).choose(count);
}

}  // namespace mgtune
