// ProblemCeilings: what the GPU can do at most, as far as one problem's times are set beside it: a
// copy of its bytes, and the arithmetic peaks where arithmetic may limit it. One thread; what the
// sweep shares outlives it.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

struct SweepShared;

class ProblemCeilings {
 public:
  explicit ProblemCeilings(SweepShared& shared) : shared_(shared) {}

  // To be called before the problem's first variant is measured: a problem of which everything is
  // known needs none. Does nothing the second time, on the cpu device, and for a problem that moves
  // no bytes. Gives `view` its copy_ns.
  Status measure_once(TunedView& view);

 private:
  Result<double> rate(const std::string& kind, std::int64_t bytes, const TunedView& view);

  SweepShared& shared_;
  bool tried_ = false;
};

}  // namespace mgtune
