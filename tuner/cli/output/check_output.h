// What `mgtune check` prints. Pure functions.

#pragma once

#include <string>

#include "family_check/family_check.h"

namespace mgtune {

// Ends with the number of problems, or with the next command if there is none. `kernel` is the word
// of the user.
std::string check_text(const FamilyReport& report, const std::string& kernel);

std::string check_json(const FamilyReport& report);

}  // namespace mgtune
