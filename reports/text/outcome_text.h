// Explains an outcome and its message to a person. Pure.

#pragma once

#include <string_view>

#include "store/records.h"

namespace mgtune {

// "the compiler refused it"; "" for outcomes that are not failures.
std::string_view explanation(Outcome outcome);

// The part of a message that says what is wrong. Compilers begin with the places where a file was
// included; the important line has the word "error".
std::string_view headline(std::string_view message);

}  // namespace mgtune
