#include "compare/measured_table.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "compare/readers.h"
#include "core/file_system.h"
#include "json/json_value.h"

namespace mgtune {
namespace {

bool is_database(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::string start(kMagic.size(), '\0');
  return std::ifstream(path, std::ios::binary).read(start.data(), std::streamsize(start.size())) &&
         start == kMagic;
}

// A folder with a copy of a database in it, which may be brought up to date: the file itself stays
// as it is.
class CopiedDatabase {
 public:
  explicit CopiedDatabase(const std::string& path) {
    std::string pattern = (std::filesystem::temp_directory_path(error_) / "mgtune-XXXXXX").string();
    if (error_ || ::mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    std::filesystem::copy_file(path, file(), error_);
    if (!error_ && std::filesystem::exists(path + "-wal")) {  // left by a sweep that was killed
      std::filesystem::copy_file(path + "-wal", file() + "-wal", error_);
    }
  }
  CopiedDatabase(const CopiedDatabase&) = delete;
  CopiedDatabase& operator=(const CopiedDatabase&) = delete;
  ~CopiedDatabase() {
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error_);
  }

  bool ok() const { return !folder_.empty() && !error_; }
  std::string file() const { return folder_ + "/copy.db"; }

 private:
  std::string folder_;
  std::error_code error_;
};

// One that an older mgtune wrote is read from a copy.
Status read_database(const std::string& path, MeasuredTable& table) {
  Result<Store> store = Store::open(path, Store::Mode::read_only);
  if (store.ok()) return read_store(*store, table);
  if (store.status().code() != StatusCode::incompatible) return store.status();
  const CopiedDatabase copy(path);
  if (!copy.ok()) return store.status();
  Result<Store> migrated = Store::open(copy.file(), Store::Mode::read_write);
  return migrated.ok() ? read_store(*migrated, table) : store.status();
}

// The reader's complaints are of the file, not of words that someone typed.
Status as_corrupt(const Status& status) {
  return status.code() == StatusCode::invalid_argument ? corrupt(status.message()) : status;
}

Status read_json(const JsonCursor& document, MeasuredTable& table) {
  if (document.find("benchmarks")) return read_benchmarks(document, table);
  if (document.find("format")) return read_export(document, table);
  return corrupt(table.file +
                 " is neither a database of results, nor an export of mgtune (show --json, sweep "
                 "--json), nor Google Benchmark's JSON");
}

}  // namespace

Result<MeasuredTable> read_measured_table(const std::string& path) {
  MeasuredTable table;
  table.file = path;
  if (is_database(path)) {
    table.kind = "database";
    MGTUNE_TRY(read_database(path, table));
    return table;
  }
  MGTUNE_ASSIGN(const std::string text, FileSystem::real().read_file(path));
  const Result<JsonValue> json = parse_json(text);
  if (!json.ok()) {
    return corrupt(path + " is neither a database of results nor JSON: " + json.status().message());
  }
  MGTUNE_TRY(as_corrupt(read_json(JsonCursor(path, *json), table)));
  return table;
}

}  // namespace mgtune
