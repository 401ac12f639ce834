// RuleTree: a decision tree over features of problems whose leaves rank representative variants. It
// grows leaf by leaf, so growing it once gives a tree of every size. One thread.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fit/loss_table.h"
#include "fit/problem_features.h"

namespace mgtune {

class RuleTree {
 public:
  struct Node {
    std::string condition;              // "": a leaf
    std::vector<bool> holds;            // whether the condition is true, per problem of the table
    std::size_t yes = 0, no = 0;        // indices into nodes()
    std::vector<std::size_t> problems;  // that the node was fitted to
    std::vector<std::size_t> ranking;   // of a leaf: up to four variants or the ladder, best first
    int depth = 0;
  };

  // One leaf with all of `problems`. Leaves rank `representatives`, which are variants of the
  // table, and the ladder. The first `measured` problems of the table were measured; each leaf gets
  // two of these at least. The table and the features must outlive the tree.
  RuleTree(const LossTable& table, const ProblemFeatures& features,
           std::vector<std::size_t> representatives, std::vector<std::size_t> problems,
           std::size_t measured);

  // Splits the leaf whose best split saves the most cost. False if no split saves anything.
  bool split();

  // With the ladder's place at the end.
  const std::vector<std::size_t>& representatives() const { return representatives_; }
  std::size_t leaves() const { return (nodes_.size() + 1) / 2; }
  const std::vector<Node>& nodes() const { return nodes_; }  // the root is the first
  const Node& leaf_of(std::size_t problem) const;            // of the table

 private:
  struct Split {
    double gain = 0;
    std::string condition;
    std::vector<bool> holds;
  };

  double cost(std::size_t problem, std::size_t representative) const {
    return costs_[problem * representatives_.size() + representative];
  }
  struct Pair {
    std::size_t first;  // an index into representatives_
    double cost;        // at the problems, with the best second one
  };
  Pair best_pair(const Node& node) const;
  void make_leaf(Node& node) const;
  std::optional<Split> best_split(const Node& node) const;

  const LossTable& table_;
  const ProblemFeatures& features_;
  std::vector<std::size_t> representatives_;
  std::size_t measured_;
  std::vector<double>
      costs_;  // of all problems of the table, with each representative ranked first
  // The same with each pair of representatives ranked first and second: pair_costs_[(p * n + first)
  // * n + second].
  std::vector<double> pair_costs_;
  std::vector<Node> nodes_;
  std::vector<std::optional<Split>> splits_;  // the best one of each node; nullopt: none, or made
};

// One leaf with all of `problems`, and at most kMaxRuleVariants representatives. They are chosen
// for the leaves of a tree: first those that would be best if every problem could use its best one,
// and then, a few times, those that are best if all problems of a leaf use the same one. The leaves
// are those of a tree with kMaxRuleLeaves, because the size of the final tree is not known yet.
RuleTree plant_rule_tree(const LossTable& table, const ProblemFeatures& features,
                         const std::vector<std::size_t>& problems, std::size_t measured);

}  // namespace mgtune
