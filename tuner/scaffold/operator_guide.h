// operator_guide(): the README.md of a new family. JSON has no comments, so it explains the
// operator file key by key, with the values that this file has.

#pragma once

#include <string>

#include "core/status.h"
#include "scaffold/new_family.h"

namespace mgtune {

// `folder` is the folder as the user wrote it; the commands in the text use it. invalid_argument if
// the operator file is not JSON.
Result<std::string> operator_guide(const std::string& folder, const NewFamily& family);

}  // namespace mgtune
