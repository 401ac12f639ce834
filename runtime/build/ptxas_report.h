// What ptxas says of each kernel under -v: registers, spills, static shared memory. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgtune {

struct PtxasEntry {
  std::string symbol;
  int registers = -1;
  // Stored; what is loaded again is usually the same. Spills of functions that were not inlined
  // count for every kernel: the report does not say who calls them.
  int spill_bytes = -1;
  int static_shared_bytes = -1;
};

// In the log's order; lines it does not know are passed over.
std::vector<PtxasEntry> parse_ptxas_report(std::string_view log);

}  // namespace mgtune
