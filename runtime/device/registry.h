// The devices of this machine, and how a user's word (`--gpu`) names them. Thread-safe; what a
// device itself allows, device.h says.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// Every device that is here, GPUs first, then cpu. Creates no CUDA context, but starts the driver
// and loads the cpu device's library.
std::vector<DeviceInfo> list_devices();

// What `--gpu` takes: a product name or alias of configs/gpus ("L4", "H200": the first such GPU), a
// CUDA index, a UUID, several of these with commas between them, "all" (every GPU), "cpu", or
// "auto" (the first GPU if there is one, else cpu). environment when the word names a device that
// is not here, listing those that are; invalid_argument with "did you mean" when it names nothing
// known. "cpu" does not start the driver, and a GPU that is here does not load the cpu device.
Result<std::vector<DeviceInfo>> select_devices(const std::string& word);

// Opens one by DeviceInfo::id: a GPU in its primary context, or the cpu device, a plugin library
// that lies beside this binary (environment when it cannot be loaded, naming where it was looked
// for).
Result<std::unique_ptr<Device>> open_device(const std::string& id);

}  // namespace mgtune
