#include "fit/stored_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "results/stored_results.h"
#include "source/rule_files.h"
#include "source/tuned_source.h"

namespace mgtune {

Result<StoredRules> stored_rules(const std::string& database, const ResultFilter& filter,
                                 Catalog& catalog) {
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  std::vector<const Operator*> operators;
  if (!filter.kernel.empty()) {
    MGTUNE_ASSIGN(operators, catalog.find(filter.kernel));
  }
  RuleFiles files;
  MGTUNE_ASSIGN(const std::string path, database_path(database));
  files.add_folder(rules_folder_of(path));
  if (only_source(database).empty()) files.add_installed();
  StoredRules found;
  for (const std::string& name : files.operators()) {
    const Result<const Operator*> op = catalog.find_operator(name);
    if (!op.ok()) continue;
    if (!filter.kernel.empty() && std::ranges::find(operators, *op) == operators.end()) continue;
    RuleFiles::Loaded loaded = files.load(**op);
    std::ranges::move(loaded.failures, std::back_inserter(found.notes));
    for (Rules& rules : loaded.rules) {
      if (!filter.gpu.empty() && !means_gpu(products, filter.gpu, rules.gpu.model)) continue;
      found.rules.push_back(std::move(rules));
    }
  }
  if (!found.rules.empty()) return found;
  if (!found.notes.empty()) return corrupt(found.notes.front());
  return not_found("there are no rules" +
                   (filter.kernel.empty() ? "" : " of '" + filter.kernel + "'") +
                   (filter.gpu.empty() ? "" : " for " + filter.gpu) +
                   ". 'mgtune fit' makes them from the results of a sweep");
}

}  // namespace mgtune
