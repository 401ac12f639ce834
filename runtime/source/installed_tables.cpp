#include "source/installed_tables.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "json/json_cursor.h"
#include "source/source_file.h"
#include "system/file_system.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr char kInstalledFolder[] = "share/mgtune/results";

// The names of the operators in a table. Empty if the document is no table.
std::set<std::string> operator_names(const JsonValue& document) {
  std::set<std::string> names;
  const JsonValue* const tables = document.find("tables");
  if (tables == nullptr) return names;
  const JsonCursor root("", *tables);
  const Result<std::vector<JsonCursor>> elements = root.elements();
  if (!elements.ok()) return names;
  for (const JsonCursor& table : *elements) {
    const std::optional<JsonCursor> name = table.find("operator");
    if (!name) continue;
    if (const Result<std::string> word = name->string(); word.ok()) names.insert(*word);
  }
  return names;
}

}  // namespace

std::string InstalledTables::folder() {
  const fs::path library = folder_of_this_code();
  if (library.empty()) return "";
  for (const char* up : {"..", "../.."}) {
    std::string folder = (library / up / kInstalledFolder).lexically_normal().string();
    if (FileSystem::real().is_directory(folder)) return folder;
  }
  return "";
}

std::vector<std::string> InstalledTables::files() {
  const std::string installed = folder();
  if (installed.empty()) return {};
  const Result<std::vector<std::string>> names = FileSystem::real().list_files(installed);
  if (!names.ok()) return {};
  std::vector<std::string> tables;
  for (const std::string& name : *names) {
    if (name.ends_with(".tuned.json")) tables.push_back((fs::path(installed) / name).string());
  }
  return tables;
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

InstalledTables::AllRows InstalledTables::load_all(Catalog& catalog) const {
  AllRows all;
  for (const Table& table : tables_) {
    std::ranges::move(unknown_operator_sentences(table.path, table.document, catalog),
                      std::back_inserter(all.failures));
    for (const std::string& name : operator_names(table.document)) {
      const Result<const Operator*> op = catalog.find_operator(name);
      if (!op.ok()) continue;
      Result<std::vector<TunedTableRow>> rows =
          read_tuned_rows(JsonCursor(table.path, table.document), **op);
      if (!rows.ok()) {
        all.failures.push_back(rows.status().message());
        continue;
      }
      std::ranges::move(*rows, std::back_inserter(all.rows));
    }
  }
  number_gpus(all.rows);
  return all;
}

std::size_t InstalledTables::loaded(const std::string& op) const {
  const auto found = loaded_.find(op);
  return found == loaded_.end() ? 0 : found->second;
}

}  // namespace mgtune
