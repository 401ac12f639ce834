// WorkItem: what a request names, bound: the words of the protocol against the operators at hand.

#pragma once

#include <memory>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "launch/loaded_variant.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"
#include "worker/protocol.h"

namespace mgtune {

struct WorkItem {
  Problem problem;  // its operator belongs to the catalog
  Variant variant;
};

Result<WorkItem> bind_request(Catalog& catalog, const WorkRequest& request);

// Builds the item's variant for the device. `record` says what was asked for and what came of it,
// also when that is a failure of the variant. compile_failed, too, for a build of which ptxas says
// that it is not what the source asks for (ptxas_objections()).
Result<Build> build_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                         BuildRecord& record);

// Loads what build_item() made. What the variant's own expressions get wrong (a division by zero in
// a block's extent, say) is launch_failed: the request itself was in order.
Result<std::unique_ptr<LoadedVariant>> load_item(Device& device, const WorkItem& item,
                                                 const Build& build);

}  // namespace mgtune
