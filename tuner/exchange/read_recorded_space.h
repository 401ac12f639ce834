// Reads a recorded space from a file: a Kernel Tuner cache or T4 results, gzipped or not. The
// content decides which. We also export T4.
//
// not_found if the file does not exist. corrupt, with the file's name and the place in it, for
// everything that is wrong inside. One thread per call.

#pragma once

#include <string>

#include "core/status.h"
#include "exchange/recorded_space.h"
#include "system/file_system.h"

namespace mgtune {

Result<RecordedSpace> read_recorded_space(FileSystem& files, const std::string& path);

}  // namespace mgtune
