// Reads what --shapes names: the shapes of a model, or a recording of the problems that a program
// launched. Plain data; the functions are pure except for reading the file.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

// The integer fields of a file of configs/shapes (or of the user's own file in that format), and
// the token counts to tune.
struct ModelShapes {
  std::string name;                            // "Llama 3.1 8B"
  std::map<std::string, std::int64_t> fields;  // "hidden_size" -> 4096
  std::vector<std::int64_t> tokens;
};

std::vector<std::string> shipped_models();  // "llama-3.1-8b", ...: sorted

// `name_or_file` is one of shipped_models() or a path (it has a '/' or ends in ".json").
// invalid_argument for an unknown name, with a list of the names that exist. io if the file cannot
// be read; corrupt, naming the place, if it is malformed.
Result<ModelShapes> load_model_shapes(FileSystem& file_system, const std::string& name_or_file);

// The recorded problems by operator. MGTUNE_RECORD of libmgruntime writes them, one per line:
//
//   {"operator": "rmsnorm.forward", "problem": "rows=7 hidden=4096 T=bf16"}
//
// `mgengine show kernels --output` also writes how often the program launches the problem: {...,
// "launches": 16}.
using RecordedShapes = std::map<std::string, std::vector<std::string>>;

// Whether the word after --shapes is a recording.
bool is_recording(FileSystem& file_system, const std::string& word);

// Each problem once, in the order of the file. corrupt, naming the line, for a line that is not a
// problem. A last line that its writer did not finish is skipped.
Result<RecordedShapes> load_recorded_shapes(FileSystem& file_system, const std::string& path);

// The launches of each problem, by "rmsnorm.forward rows=7 hidden=4096 T=bf16"; empty if the file
// does not say it. Fails like load_recorded_shapes().
using RecordedLaunches = std::map<std::string, std::int64_t>;
Result<RecordedLaunches> load_recorded_launches(FileSystem& file_system, const std::string& path);

}  // namespace mgtune
