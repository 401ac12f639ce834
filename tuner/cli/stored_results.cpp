#include "cli/stored_results.h"

#include <utility>
#include <vector>

namespace mgtune {

Result<std::optional<Store>> open_results(const std::string& named) {
  std::string path = named;
  if (named.empty()) {
    MGTUNE_ASSIGN(path, default_database_path());
  }
  Result<Store> store = Store::open(path, Store::Mode::read_only);
  if (store.ok()) return std::optional<Store>(*std::move(store));
  const bool nothing_yet = named.empty() && store.status().code() == StatusCode::not_found;
  if (nothing_yet) return std::optional<Store>();
  return std::move(store).take_status();
}

bool means_operator(const std::string& kernel, const std::string& full_name) {
  if (kernel.empty()) return true;
  std::string name = kernel;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  name = name.substr(name.rfind('/') + 1);
  return full_name == name || full_name.starts_with(name + ".");
}

Result<ReportModel> read_results(Store& store, const std::string& kernel) {
  if (kernel.empty()) return read_report_model(store);
  StoredRows rows;
  MGTUNE_ASSIGN(rows.tuned, store.tuned());
  MGTUNE_ASSIGN(rows.outcomes, store.outcomes());
  MGTUNE_ASSIGN(rows.sweeps, store.sweeps());
  const auto foreign = [&](const auto& row) { return !means_operator(kernel, row.op); };
  std::erase_if(rows.tuned, foreign);
  std::erase_if(rows.outcomes, foreign);
  return make_report_model(std::move(rows));
}

}  // namespace mgtune
