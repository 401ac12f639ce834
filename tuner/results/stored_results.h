// The database of results that --db names, and the names of what it has results of. The functions
// keep no state; a Store is for one thread at a time.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "results/result_words.h"
#include "store/store.h"

namespace mgtune {

// The file that --db names, or the default one. invalid_argument if there is no default: it lies in
// the user's home, and a file in the current folder would be lost.
Result<std::string> database_path(const std::string& named);

// Opens the database to read. nullopt if the default one does not exist yet: then there are no
// results. not_found if one that --db or MGTUNE_DB names does not exist.
Result<std::optional<Store>> open_results(const std::string& named);

// Opens the database to write; makes it if it does not exist.
Result<Store> open_results_to_write(const std::string& named);

// The names that occur in stored results.
struct RecordedNames {
  Names operators;                             // full names
  Names models;                                // of GPUs
  Names methods;                               // of timing
  std::map<std::string, Names> problem_names;  // by operator: the names that its problems set
};
Result<RecordedNames> recorded_names(Store& store);
RecordedNames names_of(const std::vector<TunedView>& tuned,
                       const std::vector<OutcomeView>& outcomes);

}  // namespace mgtune
