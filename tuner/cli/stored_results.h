// What `show`, `report`, `export`, `pack` and the watch page read from the store. The functions
// keep no state; a Store is for one thread at a time.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/output/result_words.h"
#include "core/status.h"
#include "model/report_model.h"
#include "store/store.h"

namespace mgtune {

// The file that --db names, else the default one. invalid_argument where there is no default: it
// lies in the user's home, and a file in whatever folder is the current one would be lost.
Result<std::string> database_path(const std::string& named);

// The database that --db names, else the default one, to read. nullopt when the default one does
// not exist yet: there are no results then. not_found when one that --db or MGTUNE_DB names does
// not exist.
Result<std::optional<Store>> open_results(const std::string& named);

// What a store has results of.
struct RecordedNames {
  Names operators;                             // full names
  Names models;                                // of GPUs
  Names methods;                               // of timing
  std::map<std::string, Names> problem_names;  // by operator: names that its problems give values
};
Result<RecordedNames> recorded_names(Store& store);

// Which results a reader asked for; empty words mean all.
struct ResultFilter {
  std::string kernel;  // as means_operator() takes it
  std::string gpu;     // a product's name or alias ("H200"), the driver's name for it, or "cpu"
};

struct FoundResults {
  ReportModel model;    // of the results, and the sweeps that found them
  std::string nothing;  // where others have results and what was asked for has none: a sentence
                        // that says which, and what finds more
};

// The results that `filter` lets through; without a store there are none. invalid_argument as
// check_kernel() and check_gpu() say.
Result<FoundResults> find_results(std::optional<Store>& store, const ResultFilter& filter);

}  // namespace mgtune
