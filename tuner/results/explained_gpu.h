// The GPU that `mgtune explain --gpu` means: one of this machine, or one with results in a
// database. The function keeps no state.

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

// `word` names a GPU of this machine, or one of `recorded`. environment, with both listed, if it
// names neither; invalid_argument if it means several.
Result<ExplainedGpu> find_explained_gpu(const std::string& word,
                                        const std::vector<GpuRecord>& recorded);

}  // namespace mgtune
