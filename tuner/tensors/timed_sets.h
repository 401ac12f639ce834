// TimedSets: the sets of tensors through which the timing of a problem's variants rotates.
//
// They have no guard bands, as in a program, because the distance between large tensors may affect
// how DRAM handles their traffic (results/h200/norms.md). They stay allocated as long as the object
// exists. Not thread-safe; device and layouts must outlive it.

#pragma once

#include <cstdint>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

class TimedSets {
 public:
  TimedSets(Device& device, const std::vector<TensorLayout>& layouts)
      : device_(device), layouts_(layouts) {}

  // Makes sure that there are at least `sets` sets with the content of `first`. Everything that
  // launches may have changed is fresh in all of them, and in `first`. environment if they do not
  // fit into memory.
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
