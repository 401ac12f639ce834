// Shard: one of several parts of a sweep that run at the same time, on machines that know nothing
// of each other. A shard has whole problems, dealt in turn: a final needs all variants of its
// problem in one place, a search all of its results. Each writes a file of its own; `mgtune merge`
// joins them. Pure, but for shard_of_batch_system(), which reads the environment.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"

namespace mgtune {

struct Shard {
  std::int64_t index = 1, count = 1;  // "2/4" is the second of four

  bool takes(std::size_t problem) const {  // by its place in the sweep's plan
    return static_cast<std::int64_t>(problem) % count == index - 1;
  }
  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }

  // "results.shard-2-of-4.db" for "results.db".
  std::string path(const std::string& database) const;
};

Result<Shard> parse_shard(const std::string& text);  // "2/4"; invalid_argument otherwise

// Of a job array of Slurm (SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _STEP) of more than one task; nullopt
// outside. invalid_argument where the variables make no sense.
Result<std::optional<Shard>> shard_of_batch_system();

}  // namespace mgtune
