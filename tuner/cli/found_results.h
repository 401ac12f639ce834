// The results that `show`, `report` and the watch page present. The functions keep no state.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "model/report_model.h"
#include "results/result_words.h"

namespace mgtune {

struct FoundResults {
  ReportModel model;  // of the results and of the sweeps that found them
  // If the filter matches no result: a sentence that says which results the store has, and which
  // command finds more. Otherwise "", and also if there is no filter.
  std::string nothing;
  // Sentences: where the results come from if they are not the user's own, and which tuned rows are
  // left out because this mgtune cannot use them. The model's verdict has the sentences about the
  // left-out rows too.
  std::vector<std::string> notes;
};

// The results that the kernel and the GPU of `filter` select. The results come from the database or
// the tables that open_rows() opens, which are closed again before this function returns. Fails
// like open_rows() and select_kernel_and_gpu().
Result<FoundResults> find_results(const std::string& database, const ResultFilter& filter);

// Prints the notes on standard error.
void print_notes(const FoundResults& found);

}  // namespace mgtune
