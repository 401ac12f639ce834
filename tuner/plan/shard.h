// Shard: one of several parts of a sweep that run at the same time, on machines that do not know
// about each other. shard_cut.h says which problems and variants a shard has. Each shard writes its
// own file; `mgtune merge` joins them. Pure, except for shard_of_batch_system(), which reads the
// environment.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.h"

namespace mgtune {

struct Shard {
  std::int64_t index = 1, count = 1;  // "2/4" is the second of four

  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }

  // "results.shard-2-of-4.db" for "results.db".
  std::string path(const std::string& database) const;
};

Result<Shard> parse_shard(const std::string& text);  // "2/4"; invalid_argument otherwise

// The shard of a Slurm job array (SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _STEP) with more than one
// task; nullopt outside such an array. invalid_argument if the variables contradict each other.
Result<std::optional<Shard>> shard_of_batch_system();

}  // namespace mgtune
