// Which instructions of a program must end before which others begin, so that the results are those
// of the order of the program. A pure function.

#pragma once

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace mgtune::engine {

// For each instruction the earlier ones that it must wait for, in ascending order: those that write
// memory that it reads or writes, and those that read memory that it writes. A dependency that
// follows from others may be in the lists or not. A barrier depends on all before it.
std::vector<std::vector<std::uint32_t>> dependencies(const Program& program);

}  // namespace mgtune::engine
