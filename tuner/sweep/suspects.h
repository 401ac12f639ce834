// Suspects: variants during which a signal from outside (SIGKILL, SIGTERM) ended the measure
// worker, even when nothing else was running. Either the variant is at fault, because it needs too
// much memory, or the machine. A suspect is recorded as `crashed` as soon as another variant is
// measured, or if no other variant is left and the worker still measures a kernel that is known to
// be good. After eight suspects in a row the machine is at fault.
//
// One thread.

#pragma once

#include <utility>
#include <vector>

#include "measure/measure_pool.h"
#include "sweep/known_results.h"

namespace mgtune {

class Suspects {
 public:
  bool empty() const { return states_.empty(); }

  // `state` has the outcome `crashed`. environment after the eighth.
  Status add(VariantState state);

  // ok if the worker measures a kernel that is known to be good, environment otherwise.
  Status probe(MeasurePool& workers, std::int64_t request) const;

  // The variants are at fault: the caller records them.
  std::vector<VariantState> release() { return std::exchange(states_, {}); }

 private:
  std::vector<VariantState> states_;
};

}  // namespace mgtune
