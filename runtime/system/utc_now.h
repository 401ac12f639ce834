// The time of day as the store and the reports write it. Thread-safe.

#pragma once

#include <chrono>
#include <string>

namespace mgtune {

std::string utc_now();     // "2026-11-21T09:00:00Z"
std::string utc_now_ms();  // "2026-11-21T09:00:00.123Z"

// The same form for any time. The texts sort in the order of their times.
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace mgtune
