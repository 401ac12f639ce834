// Reads what a file says about all of its times: the GPU, the driver, versions, the date. Pure.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "json/json_cursor.h"
#include "store/records.h"

namespace mgtune {

// The members gpu, driver, cuda, framework and date of an object, as far as it has them.
Status read_context(const JsonCursor& context, PeerRecord& out);

// The member `key`, which is a time, in UTC. `out` stays as it is if there is none.
Status read_utc(const JsonCursor& object, std::string_view key, std::string& out);

}  // namespace mgtune
