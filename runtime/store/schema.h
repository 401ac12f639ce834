// The tables of a store as migration steps. README.md describes them. One thread at
// a time per database object.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/status.h"
#include "store/database.h"

namespace mgtune {

// "mgtn" in the file's header: this SQLite file is a store of mgtune.
inline constexpr std::int64_t kApplicationId = 0x6d67746e;

// Step i takes a file from user_version i to i + 1. Steps that were released never change.
std::span<const std::string_view> schema_steps();

// Applies the steps the file lacks, all in one transaction, and marks it as ours. Safe when several
// processes do it at once. A file that is newer than the steps is left alone.
Status migrate(Database& database, std::span<const std::string_view> steps);

}  // namespace mgtune
