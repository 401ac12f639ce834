// What `mgtune profile --list-metrics` prints: the counters of mgtune with the metrics of a chip
// that give them, and all metrics of the chip. Needs CUPTI's library, neither GPU nor driver.

#pragma once

#include <string>

#include "core/status.h"

namespace mgtune {

// invalid_argument, with the chips there are, for one that CUPTI does not know; environment without
// CUPTI.
Result<std::string> chip_metrics_text(const std::string& chip, bool json);

}  // namespace mgtune
