// Copies of a whole database. Private to store/. One thread at a time per database object.

#pragma once

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "database/database.h"

namespace mgtune {

// Makes `to` a copy of `from`. Later changes to one do not change the other.
Status copy_database(Database& from, Database& to);

// A copy in memory. io if the database has more than `max_bytes`.
Result<std::unique_ptr<Database>> copy_to_memory(Database& database, std::int64_t max_bytes);

}  // namespace mgtune
