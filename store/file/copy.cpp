#include "store/file/copy.h"

#include <sqlite3.h>

#include <string>

namespace mgtune {

Status copy_database(Database& from, Database& to) {
  sqlite3_backup* const backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) return to.failure(sqlite3_errcode(to.handle()));
  sqlite3_backup_step(backup, -1);
  const int copied = sqlite3_backup_finish(backup);
  return copied == SQLITE_OK ? Status() : to.failure(copied);
}

Result<std::unique_ptr<Database>> copy_to_memory(Database& database, std::int64_t max_bytes) {
  MGTUNE_ASSIGN(const std::int64_t bytes,
                database.read_integer("SELECT page_count * page_size"
                                      " FROM pragma_page_count, pragma_page_size"));
  if (bytes > max_bytes) {
    return io_error(database.path() + " has an older format and more than " +
                    std::to_string(max_bytes) +
                    " bytes, too much to bring up to date in memory; 'mgtune sweep' with this "
                    "database brings the file up to date");
  }
  MGTUNE_ASSIGN(auto copy, Database::in_memory(database.path()));
  MGTUNE_TRY(copy_database(database, *copy));
  return copy;
}

}  // namespace mgtune
