// The time of day as the store and the reports write it. It is read from the system's clock in
// seconds, because the nanoseconds of std::chrono::system_clock overflow in the year 2262.
// Thread-safe.

#pragma once

#include <chrono>
#include <string>

namespace mgtune {

std::string utc_now();     // "2026-11-21T09:00:00Z"
std::string utc_now_ms();  // "2026-11-21T09:00:00.123Z"

// The time of day that was `age` ago. The texts sort in the order of their times, so times before
// the year 0 become its beginning, and times after the year 9999 its end.
std::string utc_before_now(std::chrono::seconds age);

}  // namespace mgtune
