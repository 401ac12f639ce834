// SourceTree: the text files of a family's folder, in memory. So an embedded family and one in a
// user's folder look the same to all other code.

#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "family/closure_memo.h"
#include "system/file_system.h"

namespace mgtune {

struct SourceTree {
  std::string folder;                        // as in messages: "kernels/rmsnorm"
  std::map<std::string, std::string> files;  // path below the folder -> content
  // What source_closure() has found. The files must not change after its first call; a copy of the
  // tree may have other files.
  ClosureMemo closures = {};
  bool is_embedded = false;  // in this program: no folder of the user's
};

// Reads every *.json, *.cu, and header (*.cuh *.h *.hpp *.hh *.inl *.inc) below `folder`.
// invalid_argument if a file is over 4 MiB.
Result<SourceTree> read_source_tree(FileSystem& file_system, const std::string& folder);

// The embedded files below `folder`, for example "kernels/common" for <mg/...>.
SourceTree embedded_source_tree(const std::string& folder);

}  // namespace mgtune
