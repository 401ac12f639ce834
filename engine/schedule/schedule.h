// The schedule of a program: which queue runs which instruction, in which order, what waits for
// what, and which scratch buffers share memory. Pure functions.

#pragma once

#include <cstdint>
#include <vector>

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

// Schedules a program without waits, as lower() makes it. The results stay the same. With one queue
// the order stays too. With more queues, the next instruction is always, of those whose
// dependencies are scheduled, the one with the highest cost from its start to the end of the step.
// It goes to the queue where it can start first. invalid_argument if queues is not from 1 to 1024.
Result<Program> schedule(Program program, std::uint32_t queues);

// The buckets of positions for which a model has programs of their own, ascending. The last one is
// the capacity. Within a bucket, attention always splits the keys in the same way.
std::vector<std::uint32_t> position_buckets(std::uint32_t capacity);

// Into how many parts attention should split the keys of a bucket, so that `workers` parallel units
// (such as the SMs of a GPU) have work. The parts have about 64 keys or more. 1: no split.
std::uint32_t attention_splits(std::uint32_t positions, std::uint32_t rows, std::uint32_t kv_heads,
                               std::uint32_t workers);

}  // namespace mgtune::engine
