// RecordedShapes: the problems that a program launched, as MGTUNE_RECORD of libmgruntime wrote
// them: a line {"operator": "rmsnorm.forward", "problem": "rows=7 hidden=4096 T=bf16"} each. Plain
// data; the functions are pure but for reading the file.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "system/file_system.h"
#include "core/status.h"

namespace mgtune {

using RecordedShapes = std::map<std::string, std::vector<std::string>>;  // problems by operator

// Whether the word after --shapes is a file of this kind.
bool is_recording(FileSystem& file_system, const std::string& word);

// Each problem once, in the order of the file. corrupt, naming the line, for what is none; a last
// line that its writer did not finish is passed over.
Result<RecordedShapes> load_recorded_shapes(FileSystem& file_system, const std::string& path);

}  // namespace mgtune
