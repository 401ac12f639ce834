#include "store/file/place_guard.h"

#include <sqlite3.h>

#include <memory>
#include <string>

#include "core/text.h"
#include "store/file/file_place.h"
#include "store/file/rescue.h"

namespace mgtune {
namespace {

class PlaceGuard : public WriteGuard {
 public:
  explicit PlaceGuard(Database& database)
      : database_(database),
        place_(database.path(), sqlite3_db_filename(database.handle(), "main")) {}

  bool has_lost_file() const override { return !place_.holds(); }

  Status check() override {
    if (!has_lost_file() || !lost_.ok()) return lost_;
    const std::string what =
        database_.path() +
        " was removed, or another file was put in its place, while it was being written";
    const Result<std::string> rescued = rescue_rows(database_);
    if (rescued.ok()) {
      place_.remove_log();
      lost_ = io_error(what + ". All that was recorded is now in " + *rescued +
                       ", which is a complete database: use it with --db, or add it to another "
                       "one with 'mgtune merge OTHER.db " +
                       shell_word(*rescued) + "'. Only what was not recorded yet is lost");
    } else {
      lost_ = io_error(what + ". All that it held is lost, because the rows cannot be kept: " +
                       rescued.status().message());
    }
    return lost_;
  }

 private:
  Database& database_;
  FilePlace place_;
  Status lost_;  // the failure, once the rows were rescued
};

}  // namespace

void watch_place(Database& database) {
  // SQLite creates the log with the first transaction.
  static_cast<void>(database.read_integer("SELECT count(*) FROM sqlite_schema"));
  database.set_guard(std::make_unique<PlaceGuard>(database));
}

}  // namespace mgtune
