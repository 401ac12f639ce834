// The texts of the files that `mgtune new --from` writes. Pure functions.

#pragma once

#include <string>

#include "scaffold/family_draft.h"

namespace mgtune {

// The operator file. It has one line for each key, so that it is easy to read.
std::string operator_text(const FamilyDraft& draft);

// reference.cu: a skeleton that gives NaN until somebody writes the formula.
std::string reference_text(const FamilyDraft& draft);

}  // namespace mgtune
