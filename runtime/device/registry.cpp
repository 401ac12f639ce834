#include "device/registry.h"

#include "device/device_plugin.h"
#include "device/device_selection.h"
#include "device/gpu_catalog.h"

namespace mgtune {
namespace {

constexpr char kCpuDeviceId[] = "cpu";

// Looked for once a process.
const Result<const DevicePlugin*>& cpu_plugin() {
  static const Result<const DevicePlugin*> plugin = load_device_plugin(cpu_plugin_places());
  return plugin;
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices;
  if (cpu_plugin().ok()) devices.push_back(cpu_plugin().value()->info());
  return devices;
}

Result<std::vector<DeviceInfo>> select_devices(const std::string& word) {
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  const std::vector<DeviceInfo> devices = list_devices();
  // Why the cpu device is missing says more than that it is.
  const bool means_cpu = word == "cpu" || (word == "auto" && devices.empty());
  if (means_cpu) MGTUNE_TRY(cpu_plugin().status());
  return select_among(devices, products, word);
}

Result<std::unique_ptr<Device>> open_device(const std::string& id) {
  if (id != kCpuDeviceId) return environment_error("no device " + id + " in this machine");
  MGTUNE_ASSIGN(const DevicePlugin* plugin, cpu_plugin());
  std::unique_ptr<Device> device;
  MGTUNE_TRY(plugin->open(&device));
  return device;
}

}  // namespace mgtune
