// Builds and loads kernels of mgtune that do not belong to a variant (references, fills, copies).

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "family/source_tree.h"

namespace mgtune {

// Builds the kernels `names` of `source` in `sources`. Failures are those of the builder and of the
// device. One thread, as for both of them.
inline Result<std::unique_ptr<Module>> build_module(Device& device, Builder& builder,
                                                    const SourceTree& sources,
                                                    const std::string& source,
                                                    std::vector<std::string> names) {
  MGTUNE_ASSIGN(const Build build,
                builder.build({&sources, source, std::move(names), device.info().arch}));
  return device.load(build);
}

}  // namespace mgtune
