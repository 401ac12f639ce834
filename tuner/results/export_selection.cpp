#include "results/export_selection.h"

#include <algorithm>
#include <utility>

#include "family/problem.h"
#include "results/stored_results.h"

namespace mgtune {
namespace {

Status select_operators(const ExportFilter& filter, const Names& recorded, Catalog& catalog,
                        Selection& selection) {
  if (filter.kernel.empty()) return {};
  Status found = catalog.find(filter.kernel).status();
  if (found.code() == StatusCode::invalid_argument) return found;  // a malformed family
  MGTUNE_TRY(check_kernel(filter.kernel, recorded));
  selection.wants_operator = [&filter](const std::string& op) {
    return means_operator(filter.kernel, op);
  };
  if (std::ranges::any_of(recorded, selection.wants_operator)) return {};
  return nothing_to_export("this store has no results of '" + filter.kernel + "'");
}

Status select_gpus(const ExportFilter& filter, const Names& recorded, Selection& selection) {
  if (filter.gpu.empty()) return {};
  MGTUNE_TRY(check_gpu(filter.gpu, recorded));
  MGTUNE_ASSIGN(std::vector<GpuProduct> products, shipped_gpu_products());
  selection.wants_gpu = [&filter, products = std::move(products)](const GpuRecord& gpu) {
    return means_gpu(products, filter.gpu, gpu.model);
  };
  return {};
}

}  // namespace

Result<Selection> select_results(const ExportFilter& filter, Store& store, Catalog& catalog) {
  Selection selection;
  Result<std::map<std::string, std::string>> words = parse_assignments(filter.problem);
  if (!words.ok()) return std::move(words).take_status().with_context("--problem");
  selection.problem = *std::move(words);
  selection.method = filter.method;
  const bool takes_all = filter.kernel.empty() && filter.gpu.empty() && filter.problem.empty() &&
                         filter.method.empty();
  if (takes_all) return selection;
  MGTUNE_ASSIGN(const RecordedNames names, recorded_names(store));
  MGTUNE_TRY(select_operators(filter, names.operators, catalog, selection));
  MGTUNE_TRY(select_gpus(filter, names.models, selection));
  Names of_problems;
  for (const auto& [op, recorded] : names.problem_names) {
    if (!means_operator(filter.kernel, op)) continue;
    of_problems.insert(recorded.begin(), recorded.end());
    of_problems.merge(problem_names(catalog, op));
  }
  MGTUNE_TRY(check_problem(selection.problem, of_problems));
  MGTUNE_TRY(check_method(filter.method, names.methods));
  return selection;
}

Status nothing_to_export(const std::string& reason) {
  return not_found("nothing to export: " + reason + "; 'mgtune show best' lists what there is");
}

}  // namespace mgtune
