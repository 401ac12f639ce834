#include "cli/stored_results.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/file_system.h"
#include "core/suggest.h"
#include "core/user_folders.h"
#include "device/gpu_catalog.h"
#include "family/catalog.h"

namespace mgtune {
namespace {

std::set<std::string> operators_of(const StoredRows& rows) {
  std::set<std::string> names;
  for (const TunedView& row : rows.tuned) names.insert(row.op);
  for (const OutcomeView& row : rows.outcomes) names.insert(row.op);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// A family or operator without results is no mistake, unless it looks like one that has some.
Status check_kernel(const StoredRows& rows, const std::string& kernel) {
  const std::set<std::string> recorded = operators_of(rows);
  const auto means = [&](const std::string& name) { return means_operator(kernel, name); };
  if (recorded.empty() || std::ranges::any_of(recorded, means)) return {};
  if (Catalog(FileSystem::real()).find(kernel).ok()) return {};
  std::vector<std::string> names(recorded.begin(), recorded.end());
  for (const std::string& name : recorded) names.push_back(name.substr(0, name.find('.')));
  const std::string suggestion = did_you_mean(kernel, names);
  if (suggestion.empty()) return {};
  return invalid_argument("no results of '" + kernel + "' in this store" + suggestion);
}

// "H200" means "NVIDIA H200" by the aliases of configs/gpus.
bool means_gpu(const std::string& word, const GpuRecord& gpu,
               const std::vector<GpuProduct>& products) {
  if (same_word(word, gpu.model)) return true;
  return std::ranges::any_of(products, [&](const GpuProduct& product) {
    return product.is_called(word) && product.is_called(gpu.model);
  });
}

Status keep_gpu(StoredRows& rows, const std::string& word) {
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  std::set<std::string> models;
  for (const TunedView& row : rows.tuned) models.insert(row.gpu.model);
  for (const OutcomeView& row : rows.outcomes) models.insert(row.gpu.model);
  const auto foreign = [&](const auto& row) { return !means_gpu(word, row.gpu, products); };
  std::erase_if(rows.tuned, foreign);
  std::erase_if(rows.outcomes, foreign);
  if (models.empty() || !rows.tuned.empty() || !rows.outcomes.empty()) return {};
  std::string message = "--gpu " + word + ": no results of it in this store; it has those of ";
  for (const std::string& model : models) message += (model == *models.begin() ? "" : ", ") + model;
  return invalid_argument(message + did_you_mean(word, std::vector(models.begin(), models.end())));
}

void keep_sweeps_of_results(StoredRows& rows) {
  std::set<std::int64_t> sweeps, gpus;
  const auto keep = [&](std::int64_t sweep, std::int64_t gpu) {
    sweeps.insert(sweep);
    gpus.insert(gpu);
  };
  for (const TunedView& row : rows.tuned) keep(row.tuned.sweep, row.tuned.gpu);
  for (const OutcomeView& row : rows.outcomes) keep(row.sweep, row.gpu_id);
  std::erase_if(rows.ceilings, [&](const CeilingView& row) { return !gpus.contains(row.gpu_id); });
  for (const CeilingView& row : rows.ceilings) sweeps.insert(row.sweep);
  std::erase_if(rows.sweeps, [&](const SweepView& row) { return !sweeps.contains(row.sweep.id); });
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

std::string no_results_text(const std::string& kernel, const std::vector<std::string>& others) {
  return "No results of '" + kernel + "' in this store; it has those of " + listed(others) +
         ". More: mgtune sweep --kernel " + kernel;
}

Status check_known(const std::string& kernel, const std::vector<std::string>& others) {
  if (Catalog(FileSystem::real()).find(kernel).ok()) return {};
  return invalid_argument("--kernel " + kernel +
                          ": no results of it in this store; it has those of " + listed(others));
}

Result<ReportModel> read_results(Store& store, const ResultFilter& filter) {
  MGTUNE_ASSIGN(StoredRows rows, read_stored_rows(store));
  MGTUNE_TRY(check_kernel(rows, filter.kernel));
  if (!filter.gpu.empty()) {
    MGTUNE_TRY(keep_gpu(rows, filter.gpu));
  }
  const auto foreign = [&](const auto& row) { return !means_operator(filter.kernel, row.op); };
  std::erase_if(rows.tuned, foreign);
  std::erase_if(rows.outcomes, foreign);
  if (!filter.kernel.empty() || !filter.gpu.empty()) keep_sweeps_of_results(rows);
  return make_report_model(std::move(rows));
}

}  // namespace mgtune
