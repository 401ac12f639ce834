// The files that a compile of one source may read: the source, and what it includes, directly or
// through other files, from the family's folder and from <mg/...>. Headers of CUDA and of the
// system are not among them. Any number of threads may call these functions.

#pragma once

#include <string>
#include <string_view>

#include "family/source_tree.h"

namespace mgtune {

// The result is computed once per tree and source. The tree keeps it.
const SourceClosure& source_closure(const SourceTree& tree, const std::string& source);

// "<mg/vec.cuh>", the first of mgtune's headers in the closure whose code has the identifier
// `name`. A macro of this name would change that header. "" if there is none.
std::string header_with_name(const SourceTree& tree, const std::string& source,
                             std::string_view name);

}  // namespace mgtune
