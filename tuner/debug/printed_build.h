// What `mgtune run --print` prints about the build of one variant: its source, PTX, SASS, and the
// command of a shell that makes the build. Nothing is launched, and no GPU is needed. One thread.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

const std::vector<std::string>& printed_forms();  // "cuda", "ptx", "sass", "command"

// `form` is one of printed_forms(); invalid_argument for others, and for ptx and sass of the cpu
// device. compile_failed with the compiler's message. environment if a tool or a compiler is
// missing. For "command" it writes the sources and the headers into a folder "mgtune-source-..." of
// $TMPDIR or /tmp, which stays, because the command needs it.
Result<std::string> printed_build(const std::string& form, const Problem& problem,
                                  const Variant& variant, const DeviceInfo& device);

// The kernels of the variant as C++ writes them.
Result<std::vector<std::string>> kernels_to_run(const Problem& problem, const Variant& variant,
                                                const DeviceInfo& device);

}  // namespace mgtune
