#include "compiler/compiler.h"

#include "core/text.h"

namespace mgtune {

bool compiles_together(std::string_view arch) {
  constexpr std::string_view kPrefix = "sm_";
  constexpr int kFirstWithSecondForm = 100;
  if (!arch.starts_with(kPrefix)) return false;
  arch.remove_prefix(kPrefix.size());
  const auto number = parse_number<int>(arch.substr(0, arch.find_first_not_of("0123456789")));
  return number.has_value() && *number < kFirstWithSecondForm;
}

Result<std::unique_ptr<Compiler>> make_compiler(const std::string& arch) {
  if (arch == "cpu" || arch == "cpu-race") return make_host_compiler(arch);
  if (arch.starts_with("sm_")) return make_nvrtc_compiler(arch);
  return unsupported("no compiler here builds for the architecture '" + arch + "'");
}

}  // namespace mgtune
