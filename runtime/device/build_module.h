// Kernels of our own that do not belong to a variant (references, fills, copies), built for a
// device and loaded.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "family/source_tree.h"

namespace mgtune {

// The kernels `names` of `source` in `sources`. Failures are the builder's and the device's. As
// thread-safe as both: one thread.
Result<std::unique_ptr<Module>> build_module(Device& device, Builder& builder,
                                             const SourceTree& sources, const std::string& source,
                                             std::vector<std::string> names);

}  // namespace mgtune
