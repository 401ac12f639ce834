#include "tokenizer/pair_merger.h"

#include <cstddef>
#include <queue>
#include <tuple>

namespace mgtune::engine {
namespace {

constexpr std::size_t kNoNeighbour = static_cast<std::size_t>(-1);

// A token in the row, linked to its neighbours. A merged token takes the place of its left part.
struct LinkedToken {
  std::int32_t token;
  std::size_t before;
  std::size_t after;
  bool is_alive;
};

// A pair as it was when it was found. It counts only if neither token has changed since then.
struct PairCandidate {
  PairMerge merge;
  std::size_t left;
  std::size_t right;
  std::int32_t left_token;
  std::int32_t right_token;

  bool operator<(const PairCandidate& other) const {  // the best is the largest
    return std::tuple(merge.rank, left) > std::tuple(other.merge.rank, other.left);
  }
};

}  // namespace

std::vector<std::int32_t> merge_pairs(
    std::vector<std::int32_t> tokens,
    const std::function<std::optional<PairMerge>(std::int32_t, std::int32_t)>& merge_of) {
  std::vector<LinkedToken> row;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    row.push_back({tokens[i], i == 0 ? kNoNeighbour : i - 1,
                   i + 1 == tokens.size() ? kNoNeighbour : i + 1, true});
  }
  std::priority_queue<PairCandidate> candidates;
  const auto add = [&](std::size_t left, std::size_t right) {
    if (left == kNoNeighbour || right == kNoNeighbour) return;
    if (const auto merge = merge_of(row[left].token, row[right].token)) {
      candidates.push({*merge, left, right, row[left].token, row[right].token});
    }
  };
  for (std::size_t i = 0; i < row.size(); ++i) add(i, row[i].after);
  while (!candidates.empty()) {
    const PairCandidate best = candidates.top();
    candidates.pop();
    LinkedToken& left = row[best.left];
    LinkedToken& right = row[best.right];
    if (!left.is_alive || !right.is_alive || left.after != best.right ||
        left.token != best.left_token || right.token != best.right_token) {
      continue;
    }
    left.token = best.merge.token;
    left.after = right.after;
    right.is_alive = false;
    if (left.after != kNoNeighbour) row[left.after].before = best.left;
    add(left.before, best.left);
    add(best.left, left.after);
  }
  tokens.clear();
  for (const LinkedToken& token : row) {
    if (token.is_alive) tokens.push_back(token.token);
  }
  return tokens;
}

}  // namespace mgtune::engine
