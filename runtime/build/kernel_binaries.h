// The binary of a build whose kernels were compiled one by one: their binaries, one behind the
// other. Pure functions.
//
// The text begins with the line "mgtune kernels N", and one line with the bytes of each binary
// follows. A binary of another kind, for example a cubin, is a list of one.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

std::string join_binaries(const std::vector<std::string>& binaries);

// The binaries of join_binaries(); `{binary}` if it is none of its results. corrupt if the sizes do
// not add up.
Result<std::vector<std::string>> split_binaries(std::string_view binary);

}  // namespace mgtune
