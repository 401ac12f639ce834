#include "tensors/timed_sets.h"

#include <algorithm>
#include <utility>

namespace mgtune {

Status TimedSets::provide(std::int64_t sets, ProblemTensors& first) {
  // A launch changes an inout tensor. After many launches its values might overflow.
  const bool refresh = std::ranges::any_of(
      layouts_, [](const TensorLayout& layout) { return layout.role == Role::inout; });
  if (refresh) {
    MGTUNE_TRY(first.prepare());
    for (ProblemTensors& set : sets_) MGTUNE_TRY(set.prepare_as(first));
  }
  while (static_cast<std::int64_t>(sets_.size()) < sets) {
    MGTUNE_ASSIGN(ProblemTensors set,
                  ProblemTensors::allocate(device_, layouts_, Placement::exact));
    MGTUNE_TRY(set.prepare_as(first));
    sets_.push_back(std::move(set));
  }
  return {};
}

}  // namespace mgtune
