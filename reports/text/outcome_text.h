// What an outcome and its message say to a person. Pure.

#pragma once

#include <string_view>

#include "store/records.h"

namespace mgtune {

// "the compiler refused it"; "" of outcomes that are no failures.
std::string_view explanation(Outcome outcome);

// The part of a message that says what is wrong: compilers open with where a file was included, and
// the line that counts says "error".
std::string_view headline(std::string_view message);

}  // namespace mgtune
