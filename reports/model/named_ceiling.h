// How near a pick comes to the measured ceilings of its GPU. Each share names its ceiling. Pure.

#pragma once

#include <string>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

struct CeilingShare {
  std::string name;     // "copy of 64.0 MiB", "fp32 peak"
  double fraction = 0;  // 0.964
};

// The shares of the copy of the same number of bytes and of the peak of its arithmetic, as far as
// they are known. The nearest ceiling comes first. None for emulation.
std::vector<CeilingShare> ceiling_shares(const ReportPick& pick);

std::string share_text(const CeilingShare& share);  // "96.4 % of the copy of 64.0 MiB"

}  // namespace mgtune
