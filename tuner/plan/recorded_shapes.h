// RecordedShapes: the problems that a program launched, as MGTUNE_RECORD of libmgruntime wrote
// them, one per line:
//
//   {"operator": "rmsnorm.forward", "problem": "rows=7 hidden=4096 T=bf16"}
//
// Plain data; the functions are pure except for reading the file.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

using RecordedShapes = std::map<std::string, std::vector<std::string>>;  // problems by operator

// Whether the word after --shapes is a file of this kind.
bool is_recording(FileSystem& file_system, const std::string& word);

// Each problem once, in the order of the file. corrupt, naming the line, for a line that is not a
// problem. A last line that its writer did not finish is skipped.
Result<RecordedShapes> load_recorded_shapes(FileSystem& file_system, const std::string& path);

}  // namespace mgtune
