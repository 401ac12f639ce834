#include "device/build_module.h"

#include <utility>

namespace mgtune {

Result<std::unique_ptr<Module>> build_module(Device& device, Builder& builder,
                                             const SourceTree& sources, const std::string& source,
                                             std::vector<std::string> names) {
  const BuildRequest request{&sources, source, std::move(names), device.info().arch};
  MGTUNE_ASSIGN(const Build build, builder.build(request));
  return device.load(build);
}

}  // namespace mgtune
