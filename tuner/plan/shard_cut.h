// ShardCut: which variants of which problems each shard of a sweep has. The variants of all
// problems lie on one line, each as long as it is likely to take (variant_cost.h), and the line is
// cut into equal pieces. So the shards take equally long, every variant is of one shard, and a
// shard has few problems. Each process makes the same cut, because nothing but the plan decides.
//
// Problems that share their builds lie together, and so do the variants of one build. Within them,
// every piece has the same share of each design, in an order that looks random, so that each
// search sees the whole space, but coarser.
//
// A space that is too large to be counted is cut by a hash of its points; these spaces have a line
// of their own, on which all are equally long. Pure; the operators must outlive the object.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "plan/shard.h"
#include "sweep/planned_problem.h"

namespace mgtune {

class ShardCut {
 public:
  // The whole plan. `evaluations` is the number of variants per problem that the sweep may visit.
  // `compilers` is the number of compile processes that an estimate assumes; the shards of one
  // sweep must all assume the same.
  static Result<ShardCut> make(std::vector<PlannedProblem> problems, DeviceKind device,
                               std::optional<std::int64_t> evaluations, std::int64_t compilers = 1);

  // The problems of a shard, with the part of the space and of the evaluations that it has. A
  // problem that no device can serve is of the first shard, which says so.
  std::vector<PlannedProblem> problems_of(const Shard& shard) const;

  // How long the variants of a shard, or of all, are likely to take on one GPU.
  double seconds_of(const Shard& shard) const;
  double seconds() const { return seconds_; }

  // How many variants so many shards visit together: each variant once, and the default of a
  // problem once more for each further shard that has the problem.
  std::int64_t visits(std::int64_t shards) const;

 private:
  struct Item {  // one variant of one problem
    std::size_t problem;
    std::uint64_t index;
    double seconds;
  };
  struct Listed {  // what a shard has of a problem
    std::vector<std::uint64_t> indices;
    std::size_t before = 0;  // how many variants of the problem earlier shards have
  };

  ShardCut() = default;
  Status add_group(const std::vector<std::size_t>& group, DeviceKind device,
                   std::int64_t compilers);
  // Calls visit(piece, item) for all items, of a line in so many pieces. The pieces count from 0.
  template <typename Visit>
  void for_each_item(std::int64_t pieces, const Visit& visit) const;
  std::optional<PlannedProblem> listed_part(const PlannedProblem& planned, Listed own) const;
  // `place` is that of the problem on the line of uncounted spaces.
  std::optional<PlannedProblem> hashed_part(const PlannedProblem& planned, double place,
                                            const Shard& shard) const;

  std::vector<PlannedProblem> problems_;
  std::optional<std::int64_t> evaluations_;
  std::vector<Item> items_;             // in the order of the line
  std::vector<std::size_t> uncounted_;  // problems
  double seconds_ = 0;
};

}  // namespace mgtune
