#include "tests/helpers/test_paths.h"

namespace mgtune {

std::string source_path(std::string_view relative) {
  return std::string(MGTUNE_SOURCE_DIR "/").append(relative);
}

std::string mgtune_path() { return MGTUNE_PROGRAM; }
std::string fake_worker_path() { return MGTUNE_FAKE_WORKER; }
std::string first_launch_path() { return MGTUNE_FIRST_LAUNCH; }
std::string first_launch_by_hand_path() { return MGTUNE_FIRST_LAUNCH_BY_HAND; }
std::string stand_in_cuda_path() { return MGTUNE_STAND_IN_CUDA; }
std::string runtime_library_path() { return MGTUNE_RUNTIME_LIBRARY; }

}  // namespace mgtune
