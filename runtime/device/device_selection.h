// What the word after `--gpu` means among given devices. Pure. registry.h asks the same about this
// machine.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "device/gpu_catalog.h"

namespace mgtune {

// Like select_devices() in registry.h, if the machine had `devices` and the known products were
// `products`.
Result<std::vector<DeviceInfo>> select_among(const std::vector<DeviceInfo>& devices,
                                             const std::vector<GpuProduct>& products,
                                             const std::string& word);

// "; did you mean 'L4'?" for the product, or the one of `names`, that is nearest to a misspelt
// word. "" if none is near.
std::string suggest_gpu(const std::string& word, const std::vector<GpuProduct>& products,
                        std::vector<std::string> names);

}  // namespace mgtune
