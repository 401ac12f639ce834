// Chooses the stored results that `mgtune export` writes. The functions keep no state.

#pragma once

#include <string>

#include "core/status.h"
#include "exchange/collect_results.h"
#include "family/catalog.h"
#include "store/store.h"

namespace mgtune {

// The words after --kernel, --gpu, --problem and --method as the user typed them. An empty word
// selects everything.
struct ExportFilter {
  std::string kernel, gpu, problem, method;
};

// Turns the words of the filter into the conditions that collect_results() tests. If `kernel` is a
// folder, its operators are added to the catalog. The filter must outlive the selection, which
// refers to it. invalid_argument, with a suggestion, if a word names nothing. not_found if the
// store has no results of the kernel.
Result<Selection> select_results(const ExportFilter& filter, Store& store, Catalog& catalog);

// The failure if no result was selected: not_found, with the reason. It is a failure, because
// otherwise the next program of a shell pipe would take an empty export for results.
Status nothing_to_export(const std::string& reason);

}  // namespace mgtune
