// Safetensors: a header in JSON that names the tensors, and their bytes. Sizes, dtypes and places
// are checked, so that reading a tensor never leaves the file.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "weights/tensor_set.h"

namespace mgtune::engine {

// The tensors in the content of a file. `file` is its name for messages. The views point into
// `bytes`. corrupt, with file and tensor; unsupported for a dtype that is not in core/dtype.h.
Result<TensorMap> parse_safetensors(const std::string& file, std::string_view bytes);

// Opens model.safetensors of the folder, or all files that model.safetensors.index.json names.
// corrupt also if the index is damaged.
Result<TensorSet> open_safetensors(const std::string& folder);

}  // namespace mgtune::engine
