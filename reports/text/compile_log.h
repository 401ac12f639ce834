// The compiler's log of a build as people read it. Pure.

#pragma once

#include <string>
#include <string_view>

namespace mgtune {

// The log without what is different for every build: of a kernel's symbol only its name is left
// ("_Z15rmsnorm_forwardI..." is "rmsnorm_forward"), and the time that the compile took is left out.
// So the logs of many variants are the same text. "" for a log without content.
std::string readable_log(std::string_view log);

}  // namespace mgtune
