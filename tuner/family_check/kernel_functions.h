// The __global__ functions of a source, found without compiling it. Macros are not expanded, so a
// function that a macro makes is not found. Pure functions.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "family/source_tree.h"

namespace mgtune {

struct KernelFunction {
  std::string name;
  std::string file;                     // below the family's folder
  int line = 0;                         // of its name
  std::vector<std::string> parameters;  // their names; "" for a parameter without a name
};

// The functions of `source` and of the files of the family that it includes.
std::vector<KernelFunction> kernel_functions(const SourceTree& sources, const std::string& source);

// Whether the word occurs in these files, outside comments and strings.
bool mentions(const SourceTree& sources, const std::string& source, std::string_view word);

}  // namespace mgtune
