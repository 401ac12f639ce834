// What ptxas says of each kernel under -v: registers, spills, static shared memory, and where the
// machine code is not what was asked for. Pure.

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

// The lines which say that ptxas gave up what a kernel is written for: asynchronous products that
// run one after the other (C7509 to C7516, C7520), a wait put between them (C7517), setmaxnreg
// ignored (C7508). The kernel is right, but its time is that of another one. "" where there are
// none; of many, the first three. An arrive put before a product (C7519) costs nothing.
std::string ptxas_objections(std::string_view log);

}  // namespace mgtune
