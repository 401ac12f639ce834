// Reads what --try-first names: a list of variants, which a sweep measures first at every problem
// that they can serve. Pure except for reading the file; the operators must outlive the variants.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/operator.h"
#include "sweep/sweep.h"
#include "system/file_system.h"

namespace mgtune {

// The file has one variant per line, as `mgtune show` prints it ("row THREADS=128 VEC=4"). Empty
// lines, and lines that begin with '#', do not count. A variant may be one of several operators.
// invalid_argument, naming the line, if it is a variant of none of them, and if the file has no
// variant; io if it cannot be read.
Result<VariantLists> load_variant_list(FileSystem& file_system, const std::string& path,
                                       const std::vector<const Operator*>& operators);

}  // namespace mgtune
