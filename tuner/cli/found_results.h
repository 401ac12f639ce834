// The results that `show`, `report` and the watch page present. The function keeps no state.

#pragma once

#include <string>

#include "core/status.h"
#include "model/report_model.h"
#include "results/result_words.h"

namespace mgtune {

struct FoundResults {
  ReportModel model;  // of the results and of the sweeps that found them
  // If the filter matches no result of the store: a sentence that says which results the store has,
  // and which command finds more. Otherwise "".
  std::string nothing;
};

// The results that the kernel and the GPU of `filter` select. They come from the database that --db
// names, or from the default one; if the default one does not exist, there are none. The database
// is closed again. Fails as open_results() and select_kernel_and_gpu() do.
Result<FoundResults> find_results(const std::string& database, const ResultFilter& filter);

}  // namespace mgtune
