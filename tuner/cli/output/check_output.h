// What `mgtune check` prints. Pure functions.

#pragma once

#include <string>

#include "family_check/family_check.h"

namespace mgtune {

// The text ends with the number of problems that were found, or with the command to run next if
// there are none. `kernel` is the word that the user typed.
std::string check_text(const FamilyReport& report, const std::string& kernel);

std::string check_json(const FamilyReport& report);

}  // namespace mgtune
