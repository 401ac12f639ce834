#include "selection/pick_key.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

std::string kind_of(Binding binding) {
  for (const Tensor& tensor : binding.op->tensors) {
    if (tensor.has_slot >= 0) binding.slots[std::size_t(tensor.has_slot)] = 0;
  }
  return binding.op->full_name() + " " + binding.text();
}

}  // namespace

PickKey key_of(const Problem& problem) {
  PickKey key{kind_of(problem.binding())};
  for (const Dim& dim : problem.op->dims) {
    if (dim.kind == DimKind::fixed || dim.fallback) continue;
    key.size += log_extent(problem.slots[std::size_t(dim.slot)]);
  }
  return key;
}

PickKey key_of(const Binding& binding, const std::vector<DimRange>& ranges) {
  PickKey key{kind_of(binding)};
  std::size_t index = 0;
  for (const Dim& dim : binding.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    const DimRange& range = ranges[index++];
    if (!dim.fallback && range.low <= range.high) key.size += log_extent(middle_of(range));
  }
  return key;
}

std::int64_t middle_of(const DimRange& range) {
  const auto log_of = [](std::int64_t end) {
    return std::log(static_cast<double>(std::max<std::int64_t>(end, 1)));
  };
  const double at = (log_of(range.low) + log_of(range.high)) / 2;
  return std::clamp(static_cast<std::int64_t>(std::exp(at) + 1e-6), range.low, range.high);
}

}  // namespace mgtune
