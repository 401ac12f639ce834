// The entry point of libmgruntime-cpu.so; see device/plugin.h.

#include "device/plugin.h"

#include <utility>

#include "cpu_device.h"

namespace mgtune {
namespace {

Status open_cpu_device(std::unique_ptr<Device>* device) {
  MGTUNE_ASSIGN(*device, CpuDevice::open());
  return Status();
}

constexpr DevicePlugin kPlugin{MGTUNE_BUILD_ID, &CpuDevice::describe, &open_cpu_device};

}  // namespace
}  // namespace mgtune

extern "C" __attribute__((visibility("default"))) const mgtune::DevicePlugin*
mgtune_device_plugin() {
  return &mgtune::kPlugin;
}
