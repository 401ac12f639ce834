// Sizes of tensors that a source computes in macros: input_height is (image_height +
// border_height). Pure functions.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaffold/cuda_source.h"

namespace mgtune {

// The extents of the tensor `name` by the macros NAME_height and NAME_width of the source (or
// NAME_rows and NAME_cols, in any case), as expressions over `dims`: {"(image_height + 16)",
// "(image_width + 16)"}. nullopt if the source lacks one of the two, or if one needs another name.
std::optional<std::vector<std::string>> macro_shape(const CudaSource& source,
                                                    const std::string& name,
                                                    const std::vector<std::string>& dims);

}  // namespace mgtune
