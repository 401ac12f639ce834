// The time of day as the store and the reports write it. Thread-safe.

#pragma once

#include <string>

namespace mgtune {

std::string utc_now();  // "2026-11-21T09:00:00Z"

}  // namespace mgtune
