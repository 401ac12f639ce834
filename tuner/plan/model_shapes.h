// ModelShapes: the shapes of a model for a sweep: the integer fields of a file of configs/shapes
// (or of the user's own file in that format), and the token counts to tune. Plain data; the
// functions are pure except for reading the file.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "system/file_system.h"

namespace mgtune {

struct ModelShapes {
  std::string name;                            // "Llama 3.1 8B"
  std::map<std::string, std::int64_t> fields;  // "hidden_size" -> 4096
  std::vector<std::int64_t> tokens;
};

std::vector<std::string> shipped_models();  // "llama-3.1-8b", ...: sorted

// `name_or_file` is one of shipped_models() or a path (it has a '/' or ends in ".json").
// invalid_argument for an unknown name (with a suggestion) or a malformed file, naming the place.
Result<ModelShapes> load_model_shapes(FileSystem& file_system, const std::string& name_or_file);

}  // namespace mgtune
