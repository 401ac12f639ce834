// Cores: some of the machine's processors, as Linux numbers them.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

using Cores = std::vector<int>;  // sorted, each once

// Those that the calling thread may use: its affinity mask, which a cgroup (cpuset) or taskset may
// have made smaller. Empty if the system does not say it.
Cores own_cores();

// How many of them there are; 1 at least. std::thread::hardware_concurrency() counts the whole
// machine's with some versions of glibc.
std::size_t own_core_count();

// What files of /sys have: "0-15,32-47\n". corrupt for anything else; the empty list is "".
Result<Cores> parse_cores(std::string_view text);

// The inverse, without a newline: "0-15,32-47".
std::string cores_text(const Cores& cores);

}  // namespace mgtune
