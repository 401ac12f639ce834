// The guard of a store that is written (WriteGuard): if the file loses its place while it is open
// (FilePlace), the next write fails, and the rows are rescued. Private to store/. One thread at a
// time per database object.

#pragma once

#include "database/database.h"

namespace mgtune {

// From here on, a write fails with io if the file lost its place. The failure says in which file
// the rows are then. Call it when the journal mode is set.
void watch_place(Database& database);

}  // namespace mgtune
