// What a file must be before mgtune reads rows from it, and what its rows must be before mgtune
// writes to it. A stranger can put anything into a file that has our mark: a view without an end in
// the place of a table, or a trigger. Private to store/. One thread at a time per database object.

#pragma once

#include "core/status.h"
#include "database/database.h"

namespace mgtune {

// ok if the file has exactly the tables and indexes that mgtune makes for the file's format.
// corrupt if one is missing or differs, or if there is another table, a view or a trigger. It runs
// no SQL of the file.
Status check_schema(Database& database);

// ok if mgtune can read all rows: corrupt if a row has an unknown word or samples that are no
// numbers, or refers to a row that is not there.
Status check_rows(Database& database);

}  // namespace mgtune
