// WorkItem: what a request names, bound: the words of the protocol against the operators at hand.

#pragma once

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
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
// also when that is a failure.
Result<Build> build_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                         BuildRecord& record);

}  // namespace mgtune
