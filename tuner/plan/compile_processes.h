// How many compile processes a sweep starts without --jobs: one per core that this process may use,
// if there is enough memory. Cores: the processors of the affinity mask, but no more than the
// cgroup's limit of processor time. Memory: what is available now, but no more than the cgroup's
// limit. The cgroup limits are those of version 2, for the own group and all groups above it.

#pragma once

#include <cstddef>
#include <string>

namespace mgtune {

// `root` is where /proc and /sys/fs/cgroup are; "" outside tests. `cores` is the number of cores in
// the affinity mask. At least 1. A file that cannot be read sets no limit.
std::size_t default_compile_processes(const std::string& root, std::size_t cores);

}  // namespace mgtune
