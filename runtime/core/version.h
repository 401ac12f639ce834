// The version of mgtune, as CMakeLists.txt in the root folder states it.

#pragma once

#include <string_view>

namespace mgtune {

std::string_view mgtune_version();  // "0.1.0"

}  // namespace mgtune
