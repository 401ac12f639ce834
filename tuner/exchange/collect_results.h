// What a store has, as an export says it: in an order that does not depend on when a row was
// written, so that two exports of the same results are the same text.

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

// What of a store is meant. Empty members mean everything.
struct Selection {
  std::function<bool(const std::string& op)> wants_operator;
  std::function<bool(const GpuRecord& gpu)> wants_gpu;
  std::map<std::string, std::string> problem;  // words that a problem's text has to have
  std::string method;

  bool wants(const std::string& op, const GpuRecord& gpu, const std::string& problem_text) const;
};

// Failures that came to no timing stand in the recording of every method that timed something of
// their problem. One thread at a time per store.
Result<ExchangedResults> collect_results(Store& store, const Selection& selection);

// Rows by operator, GPU and environment, in an order of their own.
std::vector<TunedTable> make_tuned_tables(const std::vector<TunedTableRow>& rows);

// Takes out picks and recorded variants that today's operators do not offer, which no import would
// take, and says how many. Operators that the catalog does not know stay as they are.
std::size_t remove_stale(ExchangedResults& results, Catalog& catalog);

}  // namespace mgtune
