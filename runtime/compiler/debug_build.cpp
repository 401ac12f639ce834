#include "compiler/debug_build.h"

namespace mgtune {
namespace {

bool is_host(const std::string& arch) { return arch.starts_with("cpu"); }

}  // namespace

Result<std::unique_ptr<Compiler>> make_debug_compiler(const std::string& arch, DebugInfo debug) {
  return is_host(arch) ? make_host_compiler(arch, debug) : make_nvrtc_compiler(arch, debug);
}

Result<BuildRecipe> build_recipe(const BuildRequest& request, const std::string& folder) {
  return is_host(request.arch) ? host_recipe(request, folder) : nvrtc_recipe(request, folder);
}

}  // namespace mgtune
