#include "compare/measured_table.h"

#include <fstream>
#include <string_view>
#include <vector>

#include "compare/readers.h"
#include "json/json_value.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

bool is_database(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::string start(kMagic.size(), '\0');
  return std::ifstream(path, std::ios::binary).read(start.data(), std::streamsize(start.size())) &&
         start == kMagic;
}

// The errors of the reader are about the file, not about words that somebody typed.
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

void keep_rows(MeasuredTable& table, const std::function<bool(const RowName&)>& is_wanted) {
  const auto is_left_out = [&](const auto& row) { return !is_wanted(row.name); };
  std::erase_if(table.rows, is_left_out);
  std::erase_if(table.untimed, is_left_out);
}

Result<MeasuredTable> read_measured_table(const std::string& path) {
  MeasuredTable table;
  table.file = path;
  if (is_database(path)) {
    table.kind = "database";
    MGTUNE_ASSIGN(Store store, Store::open(path, Store::Mode::read_only));
    MGTUNE_TRY(read_store(store, table));
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
