// Cuts one kernel out of a cubin that has several, so that a build is the same whether its kernel
// was compiled alone or together with others.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mgtune {

// A cubin with this kernel alone: its sections, and its part of those that all kernels share, such
// as the symbols and the frames of a debugger. Variables of the source are left out, so the kernel
// must use none of them, and must call no function (ptx_entries.h tells). Two cubins with the same
// kernel give the same bytes if ptxas made the same code of it.
//
// nullopt if there is no such kernel, or if the cubin has anything that this function does not
// know: cubins of GPUs from 10.0 on, which have a second form of the code, and those with line
// information. Pure.
std::optional<std::string> kernel_cubin(std::string_view cubin, std::string_view kernel);

}  // namespace mgtune
