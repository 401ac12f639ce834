// The files that a compile of one source may read: the source, and what it includes, directly or
// through other files, from the family's folder and from <mg/...>. Headers of CUDA and of the
// system are not among them. Pure functions.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "family/source_tree.h"

namespace mgtune {

// By a name that says where a file comes from: "family forward.cu", "common mg/vec.cuh". The
// contents belong to `tree` and to the program.
std::map<std::string, std::string_view> source_closure(const SourceTree& tree,
                                                       const std::string& source);

// "<mg/vec.cuh>", the first of mgtune's headers in the closure whose code has the identifier
// `name`. A macro of this name would change that header. "" if there is none.
std::string header_with_name(const SourceTree& tree, const std::string& source,
                             std::string_view name);

}  // namespace mgtune
