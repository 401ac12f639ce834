// Finds the sizes of tensors that a source computes with macros, for example input_height as
// (image_height + border_height). Pure functions.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scaffold/cuda_source.h"

namespace mgtune {

// The extents of the tensor `name`, from the macros NAME_height and NAME_width of the source (or
// NAME_rows and NAME_cols; upper and lower case are the same). The result has expressions over
// `dims`: {"(image_height + 16)", "(image_width + 16)"}. nullopt if the source lacks one of the two
// macros, or if one of them uses a name that is not in `dims`.
std::optional<std::vector<std::string>> macro_shape(const CudaSource& source,
                                                    const std::string& name,
                                                    const std::vector<std::string>& dims);

}  // namespace mgtune
