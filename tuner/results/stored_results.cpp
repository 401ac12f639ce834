#include "results/stored_results.h"

#include <utility>

#include "system/user_folders.h"

namespace mgtune {

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
    const bool by_variable = !environment_variable("MGTUNE_DB").empty();
    if (!by_variable) return std::optional<Store>();
    return not_found(store.status().message() + ", which MGTUNE_DB names");
  }
  return std::move(store).take_status();
}

Result<Store> open_results_to_write(const std::string& named) {
  MGTUNE_ASSIGN(const std::string path, database_path(named));
  return Store::open(path, Store::Mode::read_write);
}

}  // namespace mgtune
