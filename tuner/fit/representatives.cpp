#include "fit/representatives.h"

#include <algorithm>

namespace mgtune {
namespace {

constexpr double kSmallestFitGain = 1e-6;  // of the mean cost; a smaller gain is rounding
constexpr std::size_t kMaxExchanges = 50;

class Exchange {
 public:
  Exchange(const LossTable& table, std::span<const std::vector<std::size_t>> groups)
      : variants_(table.variants),
        groups_(groups.size()),
        costs_(groups.size() * table.variants, 0),
        ladder_(groups.size(), 0) {
    std::size_t problems = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::size_t problem : groups[g]) {
        for (std::size_t v = 0; v < variants_; ++v) {
          costs_[g * variants_ + v] += cost_of(table.loss_or_ladder(problem, v));
        }
        ladder_[g] += cost_of(table.ladder[problem]);
      }
      problems += groups[g].size();
    }
    smallest_gain_ = kSmallestFitGain * static_cast<double>(problems);
  }

  std::vector<std::size_t> choose(std::size_t count) {
    while (chosen_.size() < std::min(count, variants_) && add_best()) {
    }
    for (std::size_t i = 0; i < kMaxExchanges && exchange_best(); ++i) {
    }
    std::ranges::sort(chosen_);
    return chosen_;
  }

 private:
  double cost(std::size_t group, std::size_t variant) const {
    return costs_[group * variants_ + variant];
  }

  // For each group: the cost of the best chosen variant, the cost of the second best, and which
  // variant is the best. The ladder counts as chosen too. Where the ladder is the best, nearest_ is
  // the number of chosen variants.
  void rank() {
    best_.assign(groups_, 0);
    second_.assign(groups_, 0);
    nearest_.assign(groups_, 0);
    for (std::size_t g = 0; g < groups_; ++g) {
      double best = ladder_[g], second = best;
      nearest_[g] = chosen_.size();
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        const double here = cost(g, chosen_[i]);
        if (here < best) {
          second = best;
          best = here;
          nearest_[g] = i;
        } else {
          second = std::min(second, here);
        }
      }
      best_[g] = best;
      second_[g] = second;
    }
  }

  bool add_best() {
    rank();
    double best_gain = smallest_gain_;
    std::size_t found = variants_;
    for (std::size_t v = 0; v < variants_; ++v) {
      double gain = 0;
      for (std::size_t g = 0; g < groups_; ++g) {
        gain += std::max(best_[g] - cost(g, v), 0.0);
      }
      if (gain <= best_gain) continue;
      best_gain = gain;
      found = v;
    }
    if (found == variants_) return false;
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
    for (std::size_t v = 0; v < variants_; ++v) {
      double common = 0;  // the gain of adding v, if nothing is removed
      std::ranges::fill(gains, 0);
      for (std::size_t g = 0; g < groups_; ++g) {
        const double here = cost(g, v);
        const double added = std::max(best_[g] - here, 0.0);
        common += added;
        if (nearest_[g] == count) continue;
        // If the best chosen variant is removed, the group uses the second best variant or v.
        gains[nearest_[g]] += best_[g] - std::min(second_[g], here) - added;
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

  std::size_t variants_, groups_;
  std::vector<double> costs_;   // group by group
  std::vector<double> ladder_;  // the cost of the default ladder, of each group
  std::vector<std::size_t> chosen_;
  std::vector<double> best_, second_;
  std::vector<std::size_t> nearest_;  // indices into chosen_
  double smallest_gain_ = 0;
};

}  // namespace

std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::size_t> problems,
                                                std::size_t count) {
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t problem : problems) groups.push_back({problem});
  return choose_representatives(table, groups, count);
}

std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::vector<std::size_t>> groups,
                                                std::size_t count) {
  return Exchange(table, groups).choose(count);
}

}  // namespace mgtune
