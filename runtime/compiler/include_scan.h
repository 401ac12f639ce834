// The #include lines of a source text, found without preprocessing it. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgtune {

struct IncludeScan {
  std::vector<std::string> files;  // as written between "" or <>, in order, duplicates kept
  bool computed = false;           // an #include names its file by a macro
};

// Includes that a condition or a comment disables are listed too. If the list has a file too many,
// a build may be made again without need; if it lacked one, a stale build would be used.
IncludeScan scan_includes(std::string_view source);

}  // namespace mgtune
