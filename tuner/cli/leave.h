// What a sweep that was interrupted leaves behind: nothing. Its workers, their compilers and
// whatever else descends from this process are killed, the temporary folders of those are removed,
// and the write-ahead log is folded into the database. Main thread, last thing in the process.

#pragma once

#include <chrono>
#include <string>

namespace mgtune {

// Kills and collects every process that descends from this one; false when some are still there
// after `limit` (the kernel waits for a device).
bool end_descendants(std::chrono::milliseconds limit);

// All of it; `database` "" when its log is nobody's business here. One of over 64 MiB, which takes
// long to open, keeps its log for whoever opens it next.
void leave_nothing_behind(const std::string& database);

}  // namespace mgtune
