#include "fit/cross_validation.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "fit/rule_tree.h"
#include "selection/rules.h"
#include "system/cores.h"

namespace mgtune {
namespace {

constexpr std::size_t kBands = 4;

// Two sizes count as equal if their mean costs differ by less than 1 % plus a loss of 0.02 %.
constexpr double kNearlyEqual = 1.01, kNearlyEqualCost = 2e-4;

// Up to this many problems, each is left out alone. More are left out in groups of equal size.
constexpr std::size_t kMostAlone = 24;
constexpr std::size_t kGroups = 16;

// A fit without the losses of some problems. Several trials run at the same time.
struct Trial {
  std::vector<std::size_t> left_out;
  // Of each problem in `left_out` with rules of one leaf, then with rules of two leaves, and so on.
  std::vector<double> losses;
};

void run(Trial& trial, const FitData& data, std::span<const ProblemChoices> choices,
         const ProblemFeatures& features, const LossTable& truth) {
  std::vector<bool> is_left_out(choices.size(), false);
  for (const std::size_t p : trial.left_out) is_left_out[p] = true;
  std::vector<const MeasuredLosses*> known;
  std::vector<std::size_t> rest;
  for (std::size_t p = 0; p < choices.size(); ++p) {
    if (is_left_out[p]) continue;
    rest.push_back(p);
    if (p < data.measured.size()) known.push_back(&data.measured[p]);
  }
  if (known.empty()) return;
  const LossTable table = table_of(choices, LossEstimates(known, *data.variants));
  RuleTree tree = plant_rule_tree(table, features, rest, data.measured.size());
  for (std::size_t leaves = 1; leaves <= kMaxRuleLeaves; ++leaves) {
    if (leaves > 1) tree.split();
    for (const std::size_t p : trial.left_out) {
      trial.losses.push_back(loss_of_ranking(truth, p, tree.leaf_of(p).ranking));
    }
  }
}

// Sums up the losses of left-out problems, for rules with every number of leaves.
class LossesByLeaves {
 public:
  explicit LossesByLeaves(std::size_t problems)
      : problems_(problems), sums_(kMaxRuleLeaves * problems, 0), counts_(problems, 0) {}

  void add(const Trial& trial) {
    if (trial.losses.empty()) return;
    for (const std::size_t p : trial.left_out) ++counts_[p];
    auto next = trial.losses.begin();
    for (std::size_t leaves = 1; leaves <= kMaxRuleLeaves; ++leaves) {
      for (const std::size_t p : trial.left_out) {
        sums_[(leaves - 1) * problems_ + p] += *next++;
      }
    }
  }

  // -1: the problem was never left out.
  double loss(std::size_t leaves, std::size_t problem) const {
    if (counts_[problem] == 0) return -1;
    return sums_[(leaves - 1) * problems_ + problem] / counts_[problem];
  }

  double mean_cost(std::size_t leaves) const {
    double total = 0;
    int count = 0;
    for (std::size_t p = 0; p < problems_; ++p) {
      if (counts_[p] == 0) continue;
      total += cost_of(loss(leaves, p));
      ++count;
    }
    return count == 0 ? 0 : total / count;
  }

 private:
  std::size_t problems_;
  std::vector<double> sums_;
  std::vector<int> counts_;  // how often a problem was left out
};

std::size_t best_leaves(const LossesByLeaves& losses) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t leaves = 1; leaves <= kMaxRuleLeaves; ++leaves) {
    least = std::min(least, losses.mean_cost(leaves));
  }
  std::size_t leaves = 1;
  while (losses.mean_cost(leaves) > kNearlyEqual * least + kNearlyEqualCost) ++leaves;
  return leaves;
}

// Problems that are near in the order of their texts are in different groups.
std::vector<std::vector<std::size_t>> groups_of(std::size_t count) {
  std::vector<std::vector<std::size_t>> groups(count <= kMostAlone ? count : kGroups);
  for (std::size_t p = 0; p < count; ++p) groups[p % groups.size()].push_back(p);
  return groups;
}

}  // namespace

std::vector<std::vector<std::size_t>> dim_bands(const FitData& data) {
  std::vector<std::vector<std::size_t>> bands;
  const std::size_t count = data.measured.size();
  for (const Dim& dim : data.op->dims) {
    if (dim.fallback) continue;
    const auto value = [&](std::size_t p) {
      return data.measured[p].problem.slots[std::size_t(dim.slot)];
    };
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, value);
    std::size_t distinct = count > 0 ? 1 : 0;
    for (std::size_t i = 1; i < count; ++i) distinct += value(order[i]) != value(order[i - 1]);
    if (distinct < kBands) continue;
    for (std::size_t band = 0, next = 0; band < kBands && next < count; ++band) {
      std::vector<std::size_t> members;
      const std::size_t end = count * (band + 1) / kBands;
      // Problems with the same value are in one band.
      while (next < count && (next < end || value(order[next]) == value(order[next - 1]))) {
        members.push_back(order[next++]);
      }
      if (!members.empty() && members.size() < count) bands.push_back(std::move(members));
    }
  }
  return bands;
}

CrossValidation cross_validate_rules(const FitData& data, std::span<const ProblemChoices> choices,
                                     const ProblemFeatures& features, const LossTable& truth) {
  const std::size_t count = data.measured.size();
  std::vector<Trial> trials;
  for (std::vector<std::size_t>& group : groups_of(count)) trials.push_back({std::move(group), {}});
  const std::size_t groups = trials.size();
  for (std::vector<std::size_t>& band : dim_bands(data)) trials.push_back({std::move(band), {}});
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < trials.size(); i = next++) {
      run(trials[i], data, choices, features, truth);
    }
  };
  {
    const std::size_t threads = std::min(own_core_count(), trials.size());
    std::vector<std::jthread> others;
    while (others.size() + 1 < threads) others.emplace_back(work);
    work();
  }
  LossesByLeaves by_problem(count), by_band(count);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    (i < groups ? by_problem : by_band).add(trials[i]);
  }
  CrossValidation result;
  result.leaves = best_leaves(by_problem);
  for (std::size_t p = 0; p < count; ++p) {
    result.left_out_problem.push_back(by_problem.loss(result.leaves, p));
    result.left_out_band.push_back(by_band.loss(result.leaves, p));
  }
  return result;
}

}  // namespace mgtune
