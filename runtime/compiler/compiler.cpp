#include "compiler/compiler.h"

namespace mgtune {

Result<std::unique_ptr<Compiler>> make_compiler(const std::string& arch) {
  if (arch == "cpu" || arch == "cpu-race") return make_host_compiler(arch);
  if (arch.starts_with("sm_")) return make_nvrtc_compiler(arch);
  return unsupported("no compiler here builds for the architecture '" + arch + "'");
}

}  // namespace mgtune
