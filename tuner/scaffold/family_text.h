// The texts of the files that `mgtune new --from` writes. Pure functions.

#pragma once

#include <string>

#include "scaffold/family_draft.h"

namespace mgtune {

// The operator file: one line for each key, so that people find their way in it.
std::string operator_text(const FamilyDraft& draft);

// reference.cu: a skeleton that gives NaN until somebody writes the formula.
std::string reference_text(const FamilyDraft& draft);

}  // namespace mgtune
