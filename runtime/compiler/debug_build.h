// Builds for a person who debugs one variant: with debug information, as PTX, and as the files and
// commands with which a shell makes the same build.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "core/status.h"

namespace mgtune {

enum class DebugInfo : std::uint8_t {
  none,   // the build that is measured
  lines,  // "sm_...": the same code, and the source line of each instruction; "cpu": as `none`,
          // which has the lines already
  full,   // not optimized, so that a debugger can stop at every line and show every variable
};

// Like make_compiler(). The identity of the compiler includes the debug information, so builds with
// and without it have different keys.
Result<std::unique_ptr<Compiler>> make_debug_compiler(const std::string& arch, DebugInfo debug);
Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch, DebugInfo debug);
Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(const std::string& arch, DebugInfo debug);

// What the compiler of a build gets. Plain data.
struct BuildRecipe {
  std::string compiler;  // its version
  std::string unit;      // the text that is compiled: it includes the source and names the kernels
  std::vector<std::string> options;
  std::map<std::string, std::string> files;  // paths in the folder, and their contents
  std::string directory;                     // of the folder: the commands run in it
  std::vector<std::vector<std::string>> commands;
};

// The recipe for an architecture's build. The commands work if the files are in `folder`, an
// absolute path. For "cpu" they are the commands that mgtune runs, and give the same bytes. NVRTC
// is a library without a command, so for "sm_..." the command is that of nvcc, with the same
// options as far as nvcc has them. Fails as make_compiler() does.
Result<BuildRecipe> build_recipe(const BuildRequest& request, const std::string& folder);
Result<BuildRecipe> host_recipe(const BuildRequest& request, const std::string& folder);
Result<BuildRecipe> nvrtc_recipe(const BuildRequest& request, const std::string& folder);

// The PTX of a request for "sm_...". Fails as Compiler::compile() does.
Result<std::string> compile_to_ptx(const BuildRequest& request);

}  // namespace mgtune
