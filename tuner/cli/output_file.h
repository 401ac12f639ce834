// Files that a command writes where its user says. The function keeps no state.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace mgtune {

// In place, unlike the files that mgtune keeps: the path may be a device or a link, and others may
// be meant to read it. invalid_argument where `what` would replace a database; io.
Status write_output(const std::string& path, std::string_view what, std::string_view content);

}  // namespace mgtune
