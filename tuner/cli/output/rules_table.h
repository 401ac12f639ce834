// Rules as `mgtune show rules` prints them: one row for each leaf of the tree. Pure functions.

#pragma once

#include <span>
#include <string>

#include "selection/rules.h"

namespace mgtune {

std::string rules_table(std::span<const Rules> rules);
std::string rules_json(std::span<const Rules> rules);

}  // namespace mgtune
