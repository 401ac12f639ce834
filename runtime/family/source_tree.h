// SourceTree: the text files of a family's folder, held in memory, so that a family that travels in
// the binary and one in a user's folder are the same thing from here on.

#pragma once

#include <map>
#include <string>

#include "system/file_system.h"
#include "core/status.h"

namespace mgtune {

struct SourceTree {
  std::string folder;                        // as messages name it: "kernels/rmsnorm"
  std::map<std::string, std::string> files;  // path below the folder -> content
};

// Every *.json, *.cu, *.cuh and *.h below `folder`. invalid_argument when one is over 4 MiB.
Result<SourceTree> read_source_tree(FileSystem& file_system, const std::string& folder);

// The files that travel in the binary below `folder`, e.g. "kernels/common" for <mg/...>.
SourceTree embedded_source_tree(const std::string& folder);

}  // namespace mgtune
