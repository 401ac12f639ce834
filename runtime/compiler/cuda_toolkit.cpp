#include "compiler/cuda_toolkit.h"

#include <algorithm>

#include "system/user_folders.h"

namespace mgtune {

std::vector<std::string> cuda_toolkit_folders() {
  std::vector<std::string> folders;
  for (const std::string& folder :
       {environment_variable("CUDA_HOME"), std::string(MGTUNE_CUDA_HOME),
        std::string("/usr/local/cuda")}) {
    if (folder.empty() || std::ranges::find(folders, folder) != folders.end()) continue;
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace mgtune
