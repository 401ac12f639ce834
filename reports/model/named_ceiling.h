// How near a pick comes to what its GPU was measured to do, with the name of the ceiling that each
// share is of. Pure.

#pragma once

#include <string>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

struct CeilingShare {
  std::string name;     // "copy of 64.0 MiB", "fp32 peak"
  double fraction = 0;  // 0.964
};

// Of the copy of as many bytes and of the peak of its arithmetic, as far as they are known; the one
// that it is nearest to first. None for emulation.
std::vector<CeilingShare> ceiling_shares(const ReportPick& pick);

std::string share_text(const CeilingShare& share);  // "96.4 % of the copy of 64.0 MiB"

}  // namespace mgtune
