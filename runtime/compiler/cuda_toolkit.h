// Where the CUDA Toolkit may be on this machine. Everything of it that is opened at run time (NVRTC,
// CUPTI, the headers that kernels include) is looked for in the same folders.
#pragma once

#include <string>
#include <vector>

namespace mgtune {

// The toolkit's folders to look in, best first: $CUDA_HOME, the toolkit that this program was built
// with, /usr/local/cuda. None appears twice; none has to exist. Safe from any thread as long as
// nobody changes the environment.
std::vector<std::string> cuda_toolkit_folders();

}  // namespace mgtune
