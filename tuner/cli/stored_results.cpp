#include "cli/stored_results.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/user_folders.h"

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

bool means_operator(const std::string& kernel, const std::string& full_name) {
  if (kernel.empty()) return true;
  std::string name = kernel;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  name = name.substr(name.rfind('/') + 1);
  return full_name == name || full_name.starts_with(name + ".");
}

bool means_gpu(const std::vector<GpuProduct>& products, const std::string& word,
               const std::string& model) {
  if (same_word(word, model)) return true;
  return std::ranges::any_of(products, [&](const GpuProduct& product) {
    return product.is_called(word) && product.is_called(model);
  });
}

Result<std::vector<std::string>> recorded_operators(Store& store) {
  std::set<std::string> names;
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned());
  for (const TunedView& row : tuned) names.insert(row.op);
  MGTUNE_ASSIGN(const std::vector<OutcomeView> outcomes, store.outcomes());
  for (const OutcomeView& row : outcomes) names.insert(row.op);
  return std::vector<std::string>(names.begin(), names.end());
}

Result<ReportModel> read_results(Store& store, const std::string& kernel) {
  if (kernel.empty()) return read_report_model(store);
  MGTUNE_ASSIGN(StoredRows rows, read_stored_rows(store));
  const auto foreign = [&](const auto& row) { return !means_operator(kernel, row.op); };
  std::erase_if(rows.tuned, foreign);
  std::erase_if(rows.outcomes, foreign);
  return make_report_model(std::move(rows));
}

}  // namespace mgtune
