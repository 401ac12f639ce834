// Where the files of this program and its libraries are installed. Thread-safe.

#pragma once

#include <filesystem>

namespace mgtune {

// The folder of the library or program that this function was linked into; "" if unknown.
std::filesystem::path folder_of_this_code();

// The folder of the program that runs; "" if unknown.
std::filesystem::path folder_of_this_program();

}  // namespace mgtune
