#include "device/registry.h"

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_driver.h"
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

// environment where there is no driver, or no GPU that it can use.
Result<std::vector<DeviceInfo>> gpus() {
  MGTUNE_TRY(cuda_driver().status());
  return list_cuda_devices(*cuda_driver());
}

// The word asks for a GPU. The reason why there is none says more than the fact.
bool means_gpu(const std::string& word) { return word != "cpu" && word != "auto"; }

}  // namespace

std::vector<DeviceInfo> list_devices() {
  Result<std::vector<DeviceInfo>> found = gpus();
  std::vector<DeviceInfo> devices = found.ok() ? std::move(*found) : std::vector<DeviceInfo>();
  if (cpu_plugin().ok()) devices.push_back(cpu_plugin().value()->info());
  return devices;
}

Result<std::vector<DeviceInfo>> select_devices(const std::string& word) {
  // The driver is not started if the cpu device is enough, and the cpu device's library is not
  // loaded if a GPU is enough.
  if (word == kCpuDeviceId) {
    MGTUNE_ASSIGN(const DevicePlugin* plugin, cpu_plugin());
    return std::vector<DeviceInfo>{plugin->info()};
  }
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  if (const Result<std::vector<DeviceInfo>> found = gpus(); found.ok() && !found->empty()) {
    Result<std::vector<DeviceInfo>> selected = select_among(*found, products, word);
    if (selected.ok()) return selected;
  }
  const std::vector<DeviceInfo> devices = list_devices();
  // The reason why the cpu device is missing says more than the fact.
  if (word == "auto" && devices.empty()) MGTUNE_TRY(cpu_plugin().status());
  Result<std::vector<DeviceInfo>> selected = select_among(devices, products, word);
  if (selected.status().code() != StatusCode::environment || !means_gpu(word)) return selected;
  const Status missing = gpus().status();
  if (missing.ok()) return selected;
  return environment_error(selected.status().message() + "\n" + missing.message());
}

Result<std::unique_ptr<Device>> open_device(const std::string& id) {
  if (id == kCpuDeviceId) {
    MGTUNE_ASSIGN(const DevicePlugin* plugin, cpu_plugin());
    std::unique_ptr<Device> device;
    MGTUNE_TRY(plugin->open(&device));
    return device;
  }
  const std::string missing = "no device " + id + " in this machine";
  Result<std::vector<DeviceInfo>> found = gpus();
  if (!found.ok()) return std::move(found).take_status().with_context(missing);
  for (const DeviceInfo& gpu : *found) {
    if (gpu.id == id) return open_cuda_device(*cuda_driver(), gpu.index);
  }
  return environment_error(missing);
}

}  // namespace mgtune
