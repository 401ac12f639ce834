// Reads GPUs, environments and other values of exports. A file may come from strangers, so texts
// are short and printable, and numbers are not negative. Pure functions; failures are
// invalid_argument with file and place.

#pragma once

#include <string>

#include "core/status.h"
#include "json/json_cursor.h"
#include "store/records.h"

namespace mgtune {

Result<GpuRecord> read_gpu(const JsonCursor& gpu);
Result<EnvironmentRecord> read_environment(const JsonCursor& environment);

// At most 1,000 bytes of UTF-8 without control characters.
Result<std::string> read_text(const JsonCursor& text);

Result<double> read_positive(const JsonCursor& number);

// "2026-11-21T09:00:00Z"
Result<std::string> read_time_stamp(const JsonCursor& text);

// An identifier; "emulation" on the cpu device and there alone: its times are no GPU's.
Result<std::string> read_method(const JsonCursor& method, const GpuRecord& gpu);

}  // namespace mgtune
