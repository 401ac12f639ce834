// What ptxas -v reports for each kernel: registers, spills, static shared memory, and whether the
// machine code differs from what the source asked for. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "build/build.h"

namespace mgtune {

// The kernels in the order of the log, without their names: the log has only their symbols. Unknown
// lines are skipped. `spill_bytes` are the bytes stored; usually as many are loaded again. Spills
// of functions that were not inlined count for every kernel, because the report does not say which
// kernel calls them.
std::vector<BuildKernel> parse_ptxas_report(std::string_view log);

// The report of one kernel, from that of a program with several. "" if the log has anything beside
// such reports, for example a warning or an objection (below), which may be about any kernel.
std::string report_of_kernel(std::string_view log, std::string_view symbol);

// The lines in which ptxas says that it gave up an optimization that the kernel is written for:
// asynchronous products that run one after the other (C7509 to C7516, C7520), a wait put between
// them (C7517), setmaxnreg ignored (C7508). The kernel computes the right result, but its time is
// that of another kernel. "" if there are none, and at most the first three. An arrive that is put
// before a product (C7519) costs nothing.
std::string ptxas_objections(std::string_view log);

}  // namespace mgtune
