// What `mgtune profile --list-metrics` prints. Pure functions.

#pragma once

#include <string>

#include "counters/chip_listing.h"

namespace mgtune {

std::string chip_metrics_table(const ChipListing& listing);
std::string chip_metrics_json(const ChipListing& listing);

}  // namespace mgtune
