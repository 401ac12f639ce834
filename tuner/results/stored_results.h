// Opens the database of results that --db names, or the default one. The functions keep no state. A
// Store is for one thread at a time.

#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "store/store.h"

namespace mgtune {

// The file that --db names, or the default one. invalid_argument if there is no default: it lies in
// the user's home, and a file in the current folder would be lost.
Result<std::string> database_path(const std::string& named);

// Opens the database to read. nullopt if the default one does not exist yet: then there are no
// results. not_found if one that --db or MGTUNE_DB names does not exist.
Result<std::optional<Store>> open_results(const std::string& named);

// Opens the database to write; makes it if it does not exist.
Result<Store> open_results_to_write(const std::string& named);

}  // namespace mgtune
