// How many compile processes a sweep starts unless --jobs says it: one per core that this process
// may use, as far as the memory suffices. Cores: the processors of its affinity mask, and no more
// than the cgroup's share of time. Memory: what is available now, and no more than the cgroup has.
// Both cgroup limits are those of version 2, of the own group and all groups above it.

#pragma once

#include <cstddef>
#include <string>

namespace mgtune {

// `root` is where /proc and /sys/fs/cgroup are; "" outside tests. `cores` are those of the affinity
// mask. At least 1. What cannot be read does not limit.
std::size_t default_compile_processes(const std::string& root, std::size_t cores);

}  // namespace mgtune
