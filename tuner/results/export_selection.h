// Which stored results `mgtune export` takes. The functions keep no state.

#pragma once

#include <string>

#include "core/status.h"
#include "exchange/collect_results.h"
#include "family/catalog.h"
#include "store/store.h"

namespace mgtune {

// As typed; "" means all.
struct ExportFilter {
  std::string kernel, gpu, problem, method;
};

// What the filter means, for collect_results(). The operators of a folder become known to the
// catalog. The filter outlives the selection. invalid_argument with a suggestion for a word that
// names nothing; not_found if the store has no results of the kernel.
Result<Selection> select_results(const ExportFilter& filter, Store& store, Catalog& catalog);

// not_found with the reason, because a shell's pipe must not get an empty file that looks like
// results.
Status nothing_to_export(const std::string& reason);

}  // namespace mgtune
