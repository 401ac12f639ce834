// What `show`, `report`, `export` and `pack` read from the store. The functions keep no state; a
// Store is for one thread at a time.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/gpu_catalog.h"
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

// Whether --kernel `kernel` ("rmsnorm", "rmsnorm.forward", a folder, "" for all) means this
// operator.
bool means_operator(const std::string& kernel, const std::string& full_name);

// Whether --gpu `word` means this model: its name, or a word of configs/gpus that means it.
bool means_gpu(const std::vector<GpuProduct>& products, const std::string& word,
               const std::string& model);

// The full names of the operators that have results, sorted.
Result<std::vector<std::string>> recorded_operators(Store& store);

// Says that --kernel names what has no results though `others` have, and what would find some.
std::string no_results_text(const std::string& kernel, const std::vector<std::string>& others);

// invalid_argument, naming the operators with results, `others`, where mgtune knows none that
// --kernel means.
Status check_known(const std::string& kernel, const std::vector<std::string>& others);

// Which results a reader asked for; empty words mean all.
struct ResultFilter {
  std::string kernel;  // as means_operator() takes it
  std::string gpu;     // a product's name or alias ("H200"), the driver's name for it, or "cpu"
};

// The results that `filter` lets through, and the sweeps that found them. invalid_argument, naming
// the GPUs that have results, where --gpu is none of them, and where --kernel looks like a
// misspelling of an operator that has results.
Result<ReportModel> read_results(Store& store, const ResultFilter& filter);

}  // namespace mgtune
