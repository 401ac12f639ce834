// Cleans up at the end of a sweep, also of an interrupted one. It kills all processes that descend
// from this one (workers, compilers), removes their temporary folders, and folds the write-ahead
// log into the database. Main thread, as the last action of the process.

#pragma once

#include <chrono>
#include <string>

namespace mgtune {

// Kills and collects every process that descends from this one. False if some still exist after
// `limit`, for example because the kernel waits for a device.
bool end_descendants(std::chrono::milliseconds limit);

// Does all of the above. If `database` is "", no log is folded. A database of over 64 MiB takes
// long to open and keeps its log; the next program that opens it folds it.
void leave_nothing_behind(const std::string& database);

}  // namespace mgtune
