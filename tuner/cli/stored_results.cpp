#include "cli/stored_results.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/shell_word.h"
#include "system/user_folders.h"
#include "family/problem.h"

namespace mgtune {
namespace {

RecordedNames names_of(const std::vector<TunedView>& tuned,
                       const std::vector<OutcomeView>& outcomes) {
  RecordedNames names;
  Names problems;
  const auto add = [&](const auto& row) {
    names.operators.insert(row.op);
    names.models.insert(row.gpu.model);
    if (!problems.insert(row.op + ' ' + row.problem).second) return;
    const auto words = parse_assignments(row.problem);
    if (!words.ok()) return;
    for (const auto& [name, value] : *words) names.problem_names[row.op].insert(name);
  };
  for (const TunedView& row : tuned) {
    add(row);
    names.methods.insert(row.tuned.method);
  }
  for (const OutcomeView& row : outcomes) {
    add(row);
    if (row.measurement) names.methods.insert(row.measurement->method);
  }
  return names;
}

// Where the words leave nothing of what there is. The GPU has results, and the kernel others.
std::string nothing_text(const ResultFilter& filter, const StoredRows& rows, const Names& all) {
  Names models;  // that have results of the kernel
  const auto add = [&](const auto& row) {
    if (means_operator(filter.kernel, row.op)) models.insert(row.gpu.model);
  };
  std::ranges::for_each(rows.tuned, add);
  std::ranges::for_each(rows.outcomes, add);
  const bool elsewhere = !models.empty();
  return "No results of '" + filter.kernel + "'" + (elsewhere ? " on " + filter.gpu : "") +
         " in this store; it has those " +
         (elsewhere ? "on " + listed(models) : "of " + listed(all)) +
         ". More: mgtune sweep --kernel " + shell_word(filter.kernel) +
         (filter.gpu.empty() ? "" : " --gpu " + shell_word(filter.gpu));
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

Result<RecordedNames> recorded_names(Store& store) {
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store.tuned());
  MGTUNE_ASSIGN(const std::vector<OutcomeView> outcomes, store.outcomes());
  return names_of(tuned, outcomes);
}

Result<FoundResults> find_results(std::optional<Store>& store, const ResultFilter& filter) {
  StoredRows rows;
  if (store.has_value()) {
    MGTUNE_ASSIGN(rows, read_stored_rows(*store));
  }
  const bool is_filtered = !filter.kernel.empty() || !filter.gpu.empty();
  if (!is_filtered) return FoundResults{make_report_model(std::move(rows)), ""};
  const RecordedNames names = names_of(rows.tuned, rows.outcomes);
  MGTUNE_TRY(check_kernel(filter.kernel, names.operators));
  MGTUNE_TRY(check_gpu(filter.gpu, names.models));
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const auto is_foreign = [&](const auto& row) {
    return !means_operator(filter.kernel, row.op) ||
           (!filter.gpu.empty() && !means_gpu(products, filter.gpu, row.gpu.model));
  };
  FoundResults found;
  const bool any = !std::ranges::all_of(rows.tuned, is_foreign) ||
                   !std::ranges::all_of(rows.outcomes, is_foreign);
  if (!any && !names.operators.empty()) found.nothing = nothing_text(filter, rows, names.operators);
  std::erase_if(rows.tuned, is_foreign);
  std::erase_if(rows.outcomes, is_foreign);
  keep_sweeps_of_results(rows);
  found.model = make_report_model(std::move(rows));
  return found;
}

}  // namespace mgtune
