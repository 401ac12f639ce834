// DebugTool: a debugger or a profiler that `mgtune run --under` starts on one variant. The tool
// runs mgtune again with --in-process, so that the kernel runs in the process that the tool
// watches. The functions keep no state.

#pragma once

#include <string>
#include <vector>

#include "compiler/debug_build.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

const std::vector<std::string>& debug_tools();  // the names that --under takes

// The debug information with which the variant is built under the tool.
DebugInfo debug_info_under(const std::string& tool, DeviceKind device);

struct ToolRun {
  std::string tool;                    // one of debug_tools()
  std::vector<std::string> arguments;  // the user's own ones, placed before mgtune's
  std::vector<std::string> program;    // the command that runs the variant in its own process
  std::string source_folder;           // where a debugger finds the sources; "" if there is none
  std::vector<std::string> kernels;    // name expressions; a profiler ignores all other kernels
};

// The tool's path and its arguments. invalid_argument for an unknown tool, and for one that cannot
// see the kernels of such a device; not_found, with the package to install, if it is neither in
// PATH nor in the CUDA Toolkit.
Result<std::vector<std::string>> tool_command(const ToolRun& run, DeviceKind device);

// The path of a program in PATH or in the "bin" of a CUDA Toolkit; "" if it is not there.
std::string find_tool(const std::string& name);

}  // namespace mgtune
