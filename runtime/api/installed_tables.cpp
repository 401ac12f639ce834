#include "api/installed_tables.h"

#include <filesystem>
#include <utility>

#include "api/source_file.h"
#include "json/json_cursor.h"
#include "system/file_system.h"
#include "system/own_folders.h"
#include "tables/read_tuned_table.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr char kShipped[] = "share/mgtune/results";

}  // namespace

std::vector<std::string> InstalledTables::files() {
  const fs::path library = folder_of_this_code();
  if (library.empty()) return {};
  for (const char* up : {"..", "../.."}) {
    const std::string folder = (library / up / kShipped).lexically_normal().string();
    const Result<std::vector<std::string>> names = FileSystem::real().list_files(folder);
    if (!names.ok()) continue;
    std::vector<std::string> tables;
    for (const std::string& name : *names) {
      if (name.ends_with(".tuned.json")) tables.push_back((fs::path(folder) / name).string());
    }
    return tables;
  }
  return {};
}

Status InstalledTables::add(const std::string& path) {
  MGTUNE_ASSIGN(const SourceFile file, read_source_file(path));
  Result<JsonValue> document = parse_json(file.content);
  if (!document.ok()) return corrupt(path + ": " + document.status().message());
  tables_.push_back({path, std::move(document).value()});
  return {};
}

InstalledTables::Rows InstalledTables::load(const Operator& op) {
  Rows all;
  const auto [loaded, is_first] = loaded_.try_emplace(op.full_name(), 0);
  if (!is_first) return all;
  for (const Table& table : tables_) {
    Result<std::vector<TunedTableRow>> rows =
        read_tuned_rows(JsonCursor(table.path, table.document), op);
    if (!rows.ok()) {
      all.failures.push_back(rows.status().message());
      continue;
    }
    for (TunedTableRow& row : *rows) all.rows.push_back(std::move(row.view));
  }
  loaded->second = all.rows.size();
  return all;
}

std::size_t InstalledTables::loaded(const std::string& op) const {
  const auto found = loaded_.find(op);
  return found == loaded_.end() ? 0 : found->second;
}

}  // namespace mgtune
