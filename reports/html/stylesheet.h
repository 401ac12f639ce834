// report.css, as the build put it into the binary.

#pragma once

#include <string_view>

namespace mgtune {

std::string_view stylesheet();

}  // namespace mgtune
