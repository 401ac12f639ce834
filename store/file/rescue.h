// Keeps the rows of a store whose file lost its place (FilePlace): the open connection still reads
// them. Private to store/. One thread at a time per database object.

#pragma once

#include <string>

#include "core/status.h"
#include "database/database.h"

namespace mgtune {

// Copies all that was committed into a new store beside the file's path, or in the user's data
// folder if the other folder is gone or cannot be written. Returns the path of the new store.
Result<std::string> rescue_rows(Database& database);

}  // namespace mgtune
