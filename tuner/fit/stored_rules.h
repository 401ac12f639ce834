// Finds the rules that `mgtune show rules` prints: the rules beside a database, and the installed
// rules. No state.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "results/result_words.h"
#include "selection/rules.h"

namespace mgtune {

struct StoredRules {
  std::vector<Rules> rules;        // by operator; they refer to the catalog
  std::vector<std::string> notes;  // files that cannot be used
};

// The rules of the filter's kernel and GPU. If the user names a database, only the rules beside it
// count. If there are none: not_found, with the command that makes rules.
Result<StoredRules> stored_rules(const std::string& database, const ResultFilter& filter,
                                 Catalog& catalog);

}  // namespace mgtune
