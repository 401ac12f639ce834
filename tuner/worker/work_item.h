// WorkItem: the problem and the variant that a request names, looked up in the catalog of
// operators.

#pragma once

#include <optional>
#include <string>

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

Result<WorkItem> bind_request(Catalog& catalog, const NamedProblem& request,
                              const std::string& variant);

// The build of the item's variant for the device. Its sources belong to the catalog.
Result<BuildRequest> item_build_request(const WorkItem& item, const DeviceInfo& device);

// Builds the item's variant for the device. `record` describes the build and its outcome, even if
// the variant does not compile. A build to which ptxas objects (ptxas_objections()) is
// compile_failed as well: it is not the kernel that the source describes.
Result<Build> build_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                         BuildRecord& record);

// The same without a compiler: nullopt if the build is not in the cache, or may not be used.
std::optional<Build> cached_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                                 BuildRecord& record);

}  // namespace mgtune
