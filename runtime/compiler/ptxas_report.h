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

// The report of one kernel, taken from the report of a program with several kernels. "" if the log
// has anything else, for example a warning or an objection (see below), which may be about any
// kernel.
std::string report_of_kernel(std::string_view log, std::string_view symbol);

// The lines in which ptxas says that it gave up an optimization that the kernel is written for:
// asynchronous products that run one after the other (C7509 to C7516, C7520), a wait put between
// them (C7517), setmaxnreg ignored (C7508). The kernel computes the right result, but it is not as
// fast as it was written to be. Returns at most the first three lines, "" if there are none. C7519
// (an arrive is put before a product) does not count, because it costs nothing.
std::string ptxas_objections(std::string_view log);

}  // namespace mgtune
