// Where the user's database of results is. Thread-safe.

#pragma once

#include <string>

#include "core/status.h"

namespace mgtune {

// $MGTUNE_DB if it is set, otherwise results.db in user_data_folder(). environment if the user has
// no such folder.
Result<std::string> default_database_path();

}  // namespace mgtune
