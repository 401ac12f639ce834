// TimedSets: the sets of tensors that a problem's variants are timed on in turn.
//
// Without guard bands, as a program has its tensors, since where big ones lie to each other may
// decide how DRAM takes their traffic (results/h200/norms.md). They stay allocated as long as the
// object. Not thread-safe; device and layouts outlive it.

#pragma once

#include <cstdint>
#include <vector>

#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

class TimedSets {
 public:
  TimedSets(Device& device, const std::vector<TensorLayout>& layouts)
      : device_(device), layouts_(layouts) {}

  // From here on there are at least `sets`, with the content of `first`; what launches may have
  // changed of it is fresh in all of them, and in `first`. environment when they do not fit.
  Status provide(std::int64_t sets, ProblemTensors& first);

  const ProblemTensors& operator[](std::int64_t set) const {
    return sets_[static_cast<std::size_t>(set)];
  }

 private:
  Device& device_;
  const std::vector<TensorLayout>& layouts_;
  std::vector<ProblemTensors> sets_;
};

}  // namespace mgtune
