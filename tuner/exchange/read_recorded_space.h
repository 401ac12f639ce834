// Reads a recorded space from a file: a Kernel Tuner cache or T4 results, gzipped or not, told
// apart by content. T4 is also what we export.
//
// not_found for a file that is not there; corrupt, with the file's name and the place in it, for
// everything that is wrong inside. One thread per call.

#pragma once

#include <string>

#include "system/file_system.h"
#include "core/status.h"
#include "exchange/recorded_space.h"

namespace mgtune {

Result<RecordedSpace> read_recorded_space(FileSystem& files, const std::string& path);

}  // namespace mgtune
