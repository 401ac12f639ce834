// Which GPU `mgtune explain --gpu` means: one of this machine, or one that a database has results
// of. The function keeps no state.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "store/records.h"

namespace mgtune {

struct ExplainedGpu {
  DeviceInfo device;
  bool is_here = true;  // in this machine
};

// `word` as --gpu takes it elsewhere, or a name of one of `recorded`. environment, listing both,
// when it is neither; invalid_argument when it means several.
Result<ExplainedGpu> find_explained_gpu(const std::string& word,
                                        const std::vector<GpuRecord>& recorded);

}  // namespace mgtune
