// Tensor maps of the cpu device. A request that a GPU's driver refuses is refused here as well, so
// that a wrong operator file is found without a GPU.

#pragma once

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// invalid_argument names what the copy engine cannot do. The rules are those of
// cuTensorMapEncodeTiled without interleaving (CUDA driver API, "Tensor Map Object Management").
Status encode_cpu_tensor_map(const TensorMapRequest& request, EncodedTensorMap& map);

}  // namespace mgtune
