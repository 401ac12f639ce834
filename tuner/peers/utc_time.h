// Times of day as other programs write them. Pure.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace mgtune {

// "2026-11-21T09:00:00Z" for "2026-11-21T10:00:00+01:00", and the beginning of the day for
// "2026-11-21". A time without a zone is UTC. invalid_argument for anything else.
Result<std::string> utc_time(std::string_view text);

}  // namespace mgtune
