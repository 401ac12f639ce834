// The folders where mgtune keeps a user's files, by the XDG base directory specification: data (the
// results database) and cache (builds). Also the folders where mgtune itself is installed. Each
// call reads the environment. Thread-safe as long as nobody changes the environment.

#pragma once

#include <filesystem>
#include <string>

namespace mgtune {

// "" if the variable is not set. Always "" in a program that was started setuid: such a program
// must not take names of files or code from somebody else's environment.
std::string environment_variable(const char* name);

// $XDG_DATA_HOME/mgtune, otherwise ~/.local/share/mgtune. "" if neither variable is an absolute
// path.
std::string user_data_folder();

// $XDG_CACHE_HOME/mgtune, otherwise ~/.cache/mgtune. "" if neither variable is an absolute path.
std::string user_cache_folder();

// Why a folder of this user has no place: "XDG_DATA_HOME is not set, and HOME is 'here', which is
// not an absolute path". For user_data_folder() and user_cache_folder() if they are "", with the
// variable that they read first.
std::string why_no_user_folder(const char* variable);

// The folder of the library or program that this function was linked into; "" if unknown.
std::filesystem::path folder_of_this_code();

// The folder of the program that runs; "" if unknown.
std::filesystem::path folder_of_this_program();

}  // namespace mgtune
