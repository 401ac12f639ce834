// Cuts one kernel out of a cubin that has several, so that a build is the same whether its kernel
// was compiled alone or together with others.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mgtune {

// A cubin with this kernel alone. It has the sections of the kernel, and the kernel's part of the
// sections that all kernels share, such as the symbols and the frames for a debugger. It has no
// variables of the source. So the kernel must use no variable and call no function
// (PtxEntry::stands_alone). If ptxas made the same code for a kernel in two cubins, the results
// have the same bytes.
//
// nullopt if there is no such kernel, or if the cubin has anything that this function does not
// know: cubins of GPUs from 10.0 on, which have a second form of the code, and cubins with line
// information. Pure.
std::optional<std::string> kernel_cubin(std::string_view cubin, std::string_view kernel);

}  // namespace mgtune
