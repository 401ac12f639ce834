// The rules that `mgtune show rules` prints: those beside a database, and the installed ones. No
// state.

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

// Those of the filter's kernel and GPU. A database that is named has only the rules beside it.
// not_found, with the command that makes rules, if there are none.
Result<StoredRules> stored_rules(const std::string& database, const ResultFilter& filter,
                                 Catalog& catalog);

}  // namespace mgtune
