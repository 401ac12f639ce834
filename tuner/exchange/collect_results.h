// Reads from a store the content of an export. The order does not depend on when a row was written,
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
  std::map<std::string, std::string> problem;  // words that the text of a problem must have
  std::string method;

  bool wants(const std::string& op, const GpuRecord& gpu, const std::string& problem_text) const;
};

// Reads the selected results. A failure without a timing belongs to no method, so it is added to
// the recordings of all methods that timed a variant of the problem. One thread at a time per
// store.
Result<ExchangedResults> collect_results(Store& store, const Selection& selection);

// Groups rows by operator, GPU and environment. The order is fixed.
std::vector<TunedTable> make_tuned_tables(const std::vector<TunedTableRow>& rows);

// Removes picks and recorded variants that the operators here do not offer, because no import would
// accept them. Returns how many. Operators that the catalog does not know are kept.
std::size_t remove_stale(ExchangedResults& results, Catalog& catalog);

}  // namespace mgtune
