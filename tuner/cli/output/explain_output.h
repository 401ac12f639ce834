// What `mgtune explain` prints. Pure functions.

#pragma once

#include <string>

#include "results/explanation.h"

namespace mgtune {

std::string selection_text(const SelectionReport& report);
std::string selection_json(const SelectionReport& report);

}  // namespace mgtune
