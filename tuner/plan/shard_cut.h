// ShardCut: which variants of which problems each shard of a sweep has. Think of the variants of
// all problems as one line, on which each variant is as long as the time that it will probably take
// (variant_cost.h). The line is cut into pieces of equal length, one per shard. So the shards take
// equally long, every variant belongs to one shard, and a shard has few problems. Each process
// makes the same cut, because the cut depends only on the plan.
//
// Problems that share their builds form a group on the line, in which the variants of one build are
// next to each other. The order within a group looks random, and every part of a group has the same
// share of each design. So the search of each shard sees a coarse sample of the whole space.
//
// A space that is too large to be counted is cut by a hash of its points. These spaces have a
// separate line, on which all of them are equally long. Pure; the operators must outlive the
// object.

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
  // Cuts the whole plan. `evaluations` is the number of variants per problem that the sweep may
  // visit. `compilers` is the number of compile processes that an estimate assumes; the shards of
  // one sweep must all assume the same.
  static Result<ShardCut> make(std::vector<PlannedProblem> problems, DeviceKind device,
                               std::optional<std::int64_t> evaluations, std::int64_t compilers = 1);

  // The problems of a shard, with its part of each space and of the evaluations. A problem that no
  // device can serve belongs to the first shard, which reports it.
  std::vector<PlannedProblem> problems_of(const Shard& shard) const;

  // How long the variants of a shard, or of all shards, will probably take on one GPU.
  double seconds_of(const Shard& shard) const;
  double seconds() const { return seconds_; }

  // How many variants this number of shards visits together: each variant once, and the default of
  // a problem once more for each further shard that has the problem.
  std::int64_t visits(std::int64_t shards) const;

 private:
  struct Item {  // one variant of one problem
    std::size_t problem;
    std::uint64_t index;
    double seconds;
  };
  struct Listed {  // the part of a problem that a shard has
    std::vector<std::uint64_t> indices;
    std::size_t before = 0;  // how many variants of the problem earlier shards have
  };

  ShardCut() = default;
  Status add_group(const std::vector<std::size_t>& group, DeviceKind device,
                   std::int64_t compilers);
  // Calls visit(piece, item) for every item of the line, which is cut into `pieces` pieces. The
  // pieces are numbered from 0.
  template <typename Visit>
  void for_each_item(std::int64_t pieces, const Visit& visit) const;
  std::optional<PlannedProblem> listed_part(const PlannedProblem& planned, Listed own) const;
  // `place` is the place of the problem on the line of uncounted spaces.
  std::optional<PlannedProblem> hashed_part(const PlannedProblem& planned, double place,
                                            const Shard& shard) const;

  std::vector<PlannedProblem> problems_;
  std::optional<std::int64_t> evaluations_;
  std::vector<Item> items_;             // in the order of the line
  std::vector<std::size_t> uncounted_;  // problems
  double seconds_ = 0;
};

}  // namespace mgtune
