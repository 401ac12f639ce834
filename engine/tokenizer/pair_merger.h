// The heart of BPE: in a row of tokens, merges the best pair of neighbours again and again. A pure
// function that takes O(n log n) lookups for n tokens.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace mgtune::engine {

struct PairMerge {
  double rank = 0;         // the lowest is merged first, and of equals the leftmost
  std::int32_t token = 0;  // the token that replaces both
};

// `merge_of` gives the merge of two neighbours, or nullopt if they stay apart.
std::vector<std::int32_t> merge_pairs(
    std::vector<std::int32_t> tokens,
    const std::function<std::optional<PairMerge>(std::int32_t, std::int32_t)>& merge_of);

}  // namespace mgtune::engine
