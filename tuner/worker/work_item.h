// WorkItem: the problem and the variant that a request names, found in the catalog of operators.

#pragma once

#include <memory>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "launch/loaded_variant.h"
#include "store/records.h"
#include "worker/protocol.h"

namespace mgtune {

struct WorkItem {
  Problem problem;  // its operator belongs to the catalog
  Variant variant;
};

Result<WorkItem> bind_request(Catalog& catalog, const NamedProblem& request,
                              const std::string& variant);

// Builds the item's variant for the device. `record` describes the build and its outcome, also if
// the variant does not compile. A build to which ptxas objects (ptxas_objections()) is
// compile_failed as well: it is not the kernel that the source describes.
Result<Build> build_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                         BuildRecord& record);

// Loads what build_item() built. A mistake in the variant's own expressions, for example a division
// by zero in a block's extent, is launch_failed: the request itself was correct.
Result<std::unique_ptr<LoadedVariant>> load_item(Device& device, const WorkItem& item,
                                                 const Build& build);

}  // namespace mgtune
