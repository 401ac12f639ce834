// Reads the content of an export from a store. The order does not depend on when a row was written,
// so two exports of the same results have the same text.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "exchange/results.h"
#include "family/catalog.h"
#include "store/store.h"
#include "tables/read_tuned_table.h"

namespace mgtune {

// The selected part of a store. Empty members select everything.
struct Selection {
  std::function<bool(const std::string& op)> wants_operator;
  std::function<bool(const GpuRecord& gpu)> wants_gpu;
  std::map<std::string, std::string> problem;  // values that a problem must have, by name
  std::string method;

  bool wants(const std::string& op, const GpuRecord& gpu, const std::string& problem_text) const;
};

// Reads the selected results. A failure without a timing belongs to no method, so it is added to
// the recordings of all methods that timed a variant of the problem. One thread at a time per
// store.
Result<ExchangedResults> collect_results(Store& store, const Selection& selection);

// Groups rows by operator, GPU and environment. The order is fixed. Of several rows of one problem
// and method in a group, the one that was measured last is kept.
std::vector<TunedTable> make_tuned_tables(const std::vector<TunedTableRow>& rows);

struct RemovedRows {
  LeftOutRows tuned;
  std::size_t recorded = 0;  // variants of recordings

  std::vector<std::string> sentences() const;  // as LeftOutRows::sentences(); empty if none
};

// Removes the picks that cannot be used with this build (selection/usable_rows.h), and the recorded
// variants that the operators here do not offer, because no import would accept them. A default
// that is not offered any more is removed from its pick. Operators that the catalog does not know
// are kept.
RemovedRows remove_unusable(ExchangedResults& results, Catalog& catalog);

}  // namespace mgtune
