#include "results/stored_results.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "database/default_path.h"
#include "system/file_system.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

Result<bool> has_results(Store& store) {
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned());
  if (!tuned.empty()) return true;
  MGTUNE_ASSIGN(const MeasuredRows measured, store.measured());
  return !measured.rows.empty();
}

// If the user named a file that does not exist, this is io, not not_found.
Status missing_is_io(const Status& status) {
  return status.code() == StatusCode::not_found ? io_error(status.message()) : status;
}

OpenedRows installed_rows(Catalog& catalog) {
  OpenedRows opened;
  InstalledTables tables;
  std::size_t files = 0;
  for (const std::string& file : InstalledTables::files()) {
    const Status added = tables.add(file);
    files += added.ok() ? 1 : 0;
    if (!added.ok()) opened.notes.push_back(added.message());
  }
  InstalledTables::AllRows all = tables.load_all(catalog);
  opened.rows = std::move(all.rows);
  std::ranges::move(all.failures, std::back_inserter(opened.notes));
  if (files > 0) {
    opened.notes.emplace_back(
        "there are no results of your own yet; these come from the tables that are installed with "
        "mgtune, and programs run them");
  }
  return opened;
}

}  // namespace

Result<std::string> database_path(const std::string& named) {
  if (!named.empty()) return named;
  Result<std::string> path = default_database_path();
  if (path.ok()) return path;
  return invalid_argument(path.status().message());
}

Result<std::optional<Store>> open_results(const std::string& named) {
  MGTUNE_ASSIGN(const std::string path, database_path(named));
  Result<Store> store = Store::open(path, Store::Mode::read_only);
  if (store.ok()) return std::optional<Store>(*std::move(store));
  if (store.status().code() == StatusCode::not_found && named.empty()) {
    if (only_source(named).empty()) return std::optional<Store>();
    return io_error(store.status().message() + ", which MGTUNE_DB names");
  }
  return missing_is_io(std::move(store).take_status());
}

Result<Store> open_named_results(const std::string& path) {
  Result<Store> store = Store::open(path, Store::Mode::read_only);
  if (store.ok()) return store;
  return missing_is_io(std::move(store).take_status());
}

Result<OpenedRows> open_rows(const std::string& named, Catalog& catalog) {
  OpenedRows opened;
  const std::string path = only_source(named);
  if (!path.empty()) {
    Result<std::optional<TableFile>> table = read_table_file(path, catalog);
    const bool is_missing = table.status().code() == StatusCode::not_found;
    if (!table.ok() && !is_missing) return std::move(table).take_status();
    if (table.ok() && table->has_value()) {
      opened.rows = std::move((*table)->rows);
      opened.notes = std::move((*table)->notes);
      opened.failed.add(user_failures(opened.notes));
      return opened;
    }
  }
  MGTUNE_ASSIGN(opened.store, open_results(named));
  bool is_used = opened.store.has_value();
  if (is_used && path.empty()) {
    MGTUNE_ASSIGN(is_used, has_results(*opened.store));
  }
  if (is_used || !path.empty()) return opened;
  OpenedRows installed = installed_rows(catalog);
  if (installed.rows.empty()) installed.store = std::move(opened.store);
  return installed;
}

Result<TunedSource> open_source(const std::string& named, Catalog& catalog) {
  const std::string path = only_source(named);
  if (path.empty()) {
    MGTUNE_TRY(database_path(named).status());
    return open_default_sources(catalog);
  }
  Result<TunedSource> source = read_tuned_source(path, catalog);
  if (source.status().code() != StatusCode::not_found) return source;
  const Result<std::optional<Store>> missing = open_results(named);
  if (!missing.ok()) return missing.status();
  return source;
}

Result<Store> open_results_to_write(const std::string& named) {
  MGTUNE_ASSIGN(const std::string path, database_path(named));
  MGTUNE_TRY(check_folder(only_source(named)));
  return Store::open(path, Store::Mode::read_write);
}

Status check_folder(const std::string& database) {
  const std::filesystem::path folder = std::filesystem::path(database).parent_path();
  if (folder.empty() || FileSystem::real().exists(folder)) return {};
  return io_error("cannot create " + database + ": there is no folder " + folder.string());
}

}  // namespace mgtune
