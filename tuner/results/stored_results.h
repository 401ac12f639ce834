// Opens the results that --db names, or the default results, which are the ones that a program
// would open. The functions keep no state. A Store is for one thread at a time.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "selection/usable_rows.h"
#include "source/tuned_source.h"
#include "store/store.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

// The file that --db names, or the default one. invalid_argument if there is no default file
// because the user has no home folder. We do not use the current folder instead, because the
// results would be hard to find again.
Result<std::string> database_path(const std::string& named);

// Opens the database to read. nullopt if the default database does not exist yet, so that there are
// no results. io if --db or MGTUNE_DB names a database that does not exist.
Result<std::optional<Store>> open_results(const std::string& named);

// Opens a database that a user names, to read. io if it does not exist.
Result<Store> open_named_results(const std::string& path);

// The tuned rows that a program would open. Nobody has checked yet whether this build can use them
// (selection/usable_rows.h).
struct OpenedRows {
  std::optional<Store> store;       // a database with results
  std::vector<TunedTableRow> rows;  // otherwise the rows of a table, a pack or installed tables
  FailedVariants failed;            // used to judge `rows`; a store has its own
  std::vector<std::string> notes;   // sentences about where the rows come from, and failures
};

// Opens the file that --db or MGTUNE_DB names: a database, a tuned table or a pack. If neither
// names a file, it opens the default database, or the installed tables if that database has no
// results. Fails as open_results() and read_table_file() do.
Result<OpenedRows> open_rows(const std::string& named, Catalog& catalog);

// The same rows for selection. The rows of an operator are checked when somebody asks for them.
Result<TunedSource> open_source(const std::string& named, Catalog& catalog);

// Opens the database to write; makes it if it does not exist. Fails as check_folder() does.
Result<Store> open_results_to_write(const std::string& named);

// io if the folder of a database that a user names does not exist. We do not make this folder,
// because a misspelt path would then hide the results. Only the default database's folder is made.
Status check_folder(const std::string& database);

}  // namespace mgtune
