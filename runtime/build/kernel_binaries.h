// The binary of a build whose kernels were compiled one by one: a list of their binaries. Pure
// functions.
//
// The text begins with the line "mgtune kernels N". N lines follow, each with the number of bytes
// of one binary, and then the binaries themselves. A text without this first line, for example a
// cubin, counts as a list of one binary.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

std::string join_binaries(const std::vector<std::string>& binaries);

// The binaries that join_binaries() joined, or `{binary}` if it did not make this text. corrupt if
// the sizes do not add up.
Result<std::vector<std::string>> split_binaries(std::string_view binary);

}  // namespace mgtune
