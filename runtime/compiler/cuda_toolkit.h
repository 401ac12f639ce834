// Where the CUDA Toolkit may be on this machine. All of its parts that are opened at run time
// (NVRTC, CUPTI, the headers that kernels include) are looked for in the same folders.
#pragma once

#include <string>
#include <vector>

namespace mgtune {

// The folders to look in, best first: $CUDA_HOME, the toolkit that this program was built with,
// /usr/local/cuda. Each appears once, and none has to exist. Callable from any thread as long as
// nobody changes the environment.
std::vector<std::string> cuda_toolkit_folders();

}  // namespace mgtune
