// Where mgtune keeps a user's files, by the XDG base directory specification: data (the results
// database) and cache (builds). Read from the environment on each call; thread-safe as long as
// nobody changes the environment.

#pragma once

#include <string>

namespace mgtune {

// "" when it is not set. Nothing in a program that was started setuid: what names files to write or
// code to load is not taken from somebody else's environment.
std::string environment_variable(const char* name);

// $XDG_DATA_HOME/mgtune, else ~/.local/share/mgtune; "" when neither variable is an absolute path.
std::string user_data_folder();

// $XDG_CACHE_HOME/mgtune, else ~/.cache/mgtune; likewise.
std::string user_cache_folder();

}  // namespace mgtune
