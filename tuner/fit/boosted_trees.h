// BoostedTrees: predicts a number from other numbers, as the sum of many small regression trees,
// each of which is fitted to what the trees before it leave (J. H. Friedman, "Greedy function
// approximation: a gradient boosting machine", Annals of Statistics 29, 2001). Thresholds lie
// between bins of a feature, as in LightGBM (G. Ke and others, NeurIPS 2017). Immutable. The same
// samples always give the same trees.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mgtune {

class BoostedTrees {
 public:
  // Learns from `wanted.size()` samples. `features` has them one after the other, with the same
  // number of features each; none of them is NaN. Without samples the trees predict 0.
  BoostedTrees(std::span<const float> features, std::span<const float> wanted);

  float predict(std::span<const float> features) const;

 private:
  struct Node {
    std::uint32_t feature = 0;
    float threshold = 0;     // a feature up to this goes to `low`
    std::uint32_t low = 0;   // a place in nodes_; 0: a leaf
    std::uint32_t high = 0;  // likewise
    float value = 0;         // of a leaf
  };
  class Growth;

  float mean_ = 0;
  std::vector<std::uint32_t> roots_;  // places in nodes_
  std::vector<Node> nodes_;           // the first one is never used
};

}  // namespace mgtune
