// Reads what a file says about all of its times: the GPU, the driver, versions, the date. Pure.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "json/json_cursor.h"
#include "store/records.h"

namespace mgtune {

// Reads the members gpu, driver, cuda, framework and date of an object, if it has them.
Status read_context(const JsonCursor& context, PeerRecord& out);

// Reads the member `key`, which is a time, and converts it to UTC. If there is no such member,
// `out` does not change.
Status read_utc(const JsonCursor& object, std::string_view key, std::string& out);

}  // namespace mgtune
