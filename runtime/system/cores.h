// Cores: some of the machine's processors, as Linux numbers them.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

using Cores = std::vector<int>;  // sorted, each once

// The processors that the calling thread may use: its affinity mask, which a cgroup (cpuset) or
// taskset may have made smaller. Empty if the system does not report it.
Cores own_cores();

// The number of own_cores(), at least 1. With some versions of glibc,
// std::thread::hardware_concurrency() counts all processors of the machine.
std::size_t own_core_count();

// Reads a list as in the files of /sys: "0-15,32-47\n". corrupt for anything else; "" is the empty
// list.
Result<Cores> parse_cores(std::string_view text);

// The inverse, without a newline: "0-15,32-47".
std::string cores_text(const Cores& cores);

}  // namespace mgtune
