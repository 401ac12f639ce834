// Where the repository's files and the programs under test are. Functions of one compiled file, not
// definitions that every test is compiled with: so a test's object is the same in every clone, and
// a compiler cache finds it. All paths are absolute.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// Of a file or folder of the repository: source_path("tests/golden/report/made_up.json").
std::string source_path(std::string_view relative);

std::string mgtune_path();
std::string fake_worker_path();
std::string first_launch_path();
std::string first_launch_by_hand_path();
std::string stand_in_cuda_path();
std::string runtime_library_path();  // libmgruntime

}  // namespace mgtune
