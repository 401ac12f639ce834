// The results that `show`, `report` and the watch page present. The functions keep no state; a
// Store is for one thread at a time.

#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "model/report_model.h"
#include "store/store.h"

namespace mgtune {

class ArgumentList;

// Which results a reader asked for; empty words mean all.
struct ResultFilter {
  std::string kernel;  // as means_operator() takes it
  std::string gpu;     // a product's name or alias ("H200"), the driver's name for it, or "cpu"

  void declare(ArgumentList& arguments);  // --kernel and --gpu
};

struct FoundResults {
  ReportModel model;  // of the results and of the sweeps that found them
  // If the filter matches no result of the store: a sentence that says which results the store has,
  // and which command finds more. Otherwise "".
  std::string nothing;
};

// The results that `filter` accepts. If there is no store, there are none. Fails as check_kernel()
// and check_gpu() do.
Result<FoundResults> find_results(std::optional<Store>& store, const ResultFilter& filter);

// The same of the database that --db names, or of the default one.
Result<FoundResults> find_results(const std::string& database, const ResultFilter& filter);

}  // namespace mgtune
