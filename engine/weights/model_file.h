// Reading the small files of a model: its config, its tokenizer, the index of its weights.

#pragma once

#include <string>

#include "core/status.h"

namespace mgtune::engine {

// The content of a regular file. io for anything else: reading a FIFO would wait for a writer that
// may never come.
Result<std::string> read_model_file(const std::string& path);

}  // namespace mgtune::engine
