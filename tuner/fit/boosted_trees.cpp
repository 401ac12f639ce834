#include "fit/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mgtune {
namespace {

// A prototype with 600 trees at a rate of 0.05, which takes three times as long, ranked held-out
// variants of rmsnorm.backward no better.
constexpr std::size_t kTrees = 200;
constexpr double kRate = 0.1;
constexpr std::size_t kMostLeaves = 31, kFewestSamples = 8;
// Each leaf counts this many extra samples with value 0, which pulls its value towards 0.
constexpr double kRegularization = 1;

constexpr std::size_t kMostBins = 64;

// What trees leave of the samples is counted in these, so that sums are exact: features that divide
// the samples alike then have the same gain, whatever the order of the additions.
constexpr double kUnit = 0x1.0p-40;

// The thresholds of a feature: halfway between neighbouring values, or between quantiles if there
// are many values.
std::vector<float> thresholds_of(std::vector<float> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<float> thresholds;
  const std::size_t bins = std::min(values.size(), kMostBins);
  for (std::size_t bin = 1; bin < bins; ++bin) {
    const std::size_t place = bin * values.size() / bins;
    thresholds.push_back(values[place - 1] + (values[place] - values[place - 1]) / 2);
  }
  return thresholds;
}

}  // namespace

// Grows the trees one after the other. `left_` has what the trees so far leave of each sample.
class BoostedTrees::Growth {
 public:
  Growth(std::span<const float> features, std::span<const float> wanted)
      : samples_(wanted.size()),
        width_(features.size() / wanted.size()),
        bins_(samples_ * width_),
        order_(samples_) {
    for (const float value : wanted) left_.push_back(in_units(value));
    for (std::size_t f = 0; f < width_; ++f) {
      std::vector<float> values(samples_);
      for (std::size_t i = 0; i < samples_; ++i) values[i] = features[i * width_ + f];
      thresholds_.push_back(thresholds_of(values));
      for (std::size_t i = 0; i < samples_; ++i) {
        const auto above = std::ranges::lower_bound(thresholds_[f], values[i]);
        bins_[f * samples_ + i] = static_cast<std::uint8_t>(above - thresholds_[f].begin());
      }
      if (says_something_new(f)) useful_.push_back(static_cast<std::uint32_t>(f));
    }
  }

  float take_mean() {
    const std::int64_t sum = std::accumulate(left_.begin(), left_.end(), std::int64_t{0});
    const double mean = kUnit * double(sum) / double(samples_);
    for (std::int64_t& left : left_) left -= in_units(mean);
    return static_cast<float>(mean);
  }

  // Adds a tree to `nodes`, takes it off what is left, and returns its root.
  std::uint32_t grow(std::vector<Node>& nodes) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    const auto root = static_cast<std::uint32_t>(nodes.size());
    nodes.emplace_back();
    std::vector<Leaf> leaves = {make_leaf(root, 0, samples_)};
    while (leaves.size() < kMostLeaves) {
      const auto best =
          std::ranges::max_element(leaves, {}, [](const Leaf& leaf) { return leaf.gain; });
      if (best->gain <= 0) break;
      const Leaf parent = *best;
      const std::size_t middle = divide(parent);
      const auto low = static_cast<std::uint32_t>(nodes.size());
      nodes.resize(nodes.size() + 2);
      nodes[parent.node] = {parent.feature, thresholds_[parent.feature][parent.bin], low, low + 1,
                            0};
      *best = make_leaf(low, parent.begin, middle);
      leaves.push_back(make_leaf(low + 1, middle, parent.end));
    }
    for (const Leaf& leaf : leaves) {
      const double value =
          kRate * kUnit * double(leaf.sum) / (double(leaf.end - leaf.begin) + kRegularization);
      nodes[leaf.node].value = static_cast<float>(value);
      for (std::size_t i = leaf.begin; i < leaf.end; ++i) left_[order_[i]] -= in_units(value);
    }
    return root;
  }

 private:
  // A leaf has the samples order_[begin .. end), and knows how it would best be divided: the
  // samples with a bin of `feature` up to `bin` on one side.
  struct Leaf {
    std::uint32_t node = 0;
    std::size_t begin = 0, end = 0;
    std::int64_t sum = 0;
    double gain = 0;
    std::uint32_t feature = 0;
    std::size_t bin = 0;
  };

  // Of features that order the samples in the same way, one is enough.
  bool says_something_new(std::size_t feature) const {
    if (thresholds_[feature].empty()) return false;
    const auto bins_of = [&](std::size_t f) {
      return bins_.begin() + std::ptrdiff_t(f * samples_);
    };
    return std::ranges::none_of(useful_, [&](std::uint32_t other) {
      return std::equal(bins_of(other), bins_of(other + 1), bins_of(feature));
    });
  }

  static std::int64_t in_units(double value) { return std::llround(value / kUnit); }

  static double score(std::int64_t units, std::size_t count) {
    const double sum = kUnit * double(units);
    return sum * sum / (double(count) + kRegularization);
  }

  Leaf make_leaf(std::uint32_t node, std::size_t begin, std::size_t end) const {
    Leaf leaf{node, begin, end};
    for (std::size_t i = begin; i < end; ++i) leaf.sum += left_[order_[i]];
    const std::size_t count = end - begin;
    if (count < 2 * kFewestSamples) return leaf;
    const double whole = score(leaf.sum, count);
    for (const std::uint32_t f : useful_) {
      std::int64_t sums[kMostBins] = {};
      std::uint32_t counts[kMostBins] = {};
      const std::uint8_t* const bins = bins_.data() + f * samples_;
      for (std::size_t i = begin; i < end; ++i) {
        sums[bins[order_[i]]] += left_[order_[i]];
        ++counts[bins[order_[i]]];
      }
      std::int64_t sum = 0;
      std::size_t below = 0;
      for (std::size_t bin = 0; bin < thresholds_[f].size(); ++bin) {
        sum += sums[bin];
        below += counts[bin];
        if (below < kFewestSamples || count - below < kFewestSamples) continue;
        const double gain = score(sum, below) + score(leaf.sum - sum, count - below) - whole;
        if (gain <= leaf.gain) continue;
        leaf.gain = gain;
        leaf.feature = f;
        leaf.bin = bin;
      }
    }
    return leaf;
  }

  // Puts the samples of the low side first, and returns where those of the high side begin.
  std::size_t divide(const Leaf& leaf) {
    const std::uint8_t* const bins = bins_.data() + leaf.feature * samples_;
    const auto begin = order_.begin();
    const auto middle =
        std::stable_partition(begin + std::ptrdiff_t(leaf.begin), begin + std::ptrdiff_t(leaf.end),
                              [&](std::uint32_t i) { return bins[i] <= leaf.bin; });
    return static_cast<std::size_t>(middle - begin);
  }

  std::size_t samples_, width_;
  std::vector<std::vector<float>> thresholds_;  // by feature
  std::vector<std::uint8_t> bins_;              // feature by feature
  std::vector<std::uint32_t> useful_;           // the features that trees look at
  std::vector<std::int64_t> left_;              // in units
  std::vector<std::uint32_t> order_;            // of the samples, leaf by leaf
};

BoostedTrees::BoostedTrees(std::span<const float> features, std::span<const float> wanted) {
  if (wanted.empty()) return;
  Growth growth(features, wanted);
  mean_ = growth.take_mean();
  nodes_.emplace_back();
  for (std::size_t i = 0; i < kTrees; ++i) roots_.push_back(growth.grow(nodes_));
}

float BoostedTrees::predict(std::span<const float> features) const {
  float sum = mean_;
  for (std::uint32_t place : roots_) {
    while (nodes_[place].low != 0) {
      const Node& node = nodes_[place];
      place = features[node.feature] <= node.threshold ? node.low : node.high;
    }
    sum += nodes_[place].value;
  }
  return sum;
}

}  // namespace mgtune
