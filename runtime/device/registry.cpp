#include "device/registry.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_driver.h"
#include "device/gpu_catalog.h"
#include "device/plugin.h"

namespace mgtune {
namespace {

constexpr char kCpuDeviceId[] = "cpu";

// Looked for once a process.
const Result<const DevicePlugin*>& cpu_plugin() {
  static const Result<const DevicePlugin*> plugin = load_device_plugin(cpu_plugin_places());
  return plugin;
}

// environment where there is no driver, or no GPU that it can use.
Result<CudaDevices> gpus() {
  MGTUNE_TRY(cuda_driver().status());
  return list_cuda_devices(*cuda_driver());
}

// Whether the word asks for a GPU. If there is none, the message then says why.
bool means_gpu(const std::string& word) { return word != "cpu" && word != "auto"; }

// "NVIDIA L4 (0), cpu": what a word may mean here.
std::string devices_here(const std::vector<DeviceInfo>& devices) {
  std::string text = "; devices here: ";
  if (devices.empty()) return text + "none";
  for (const DeviceInfo& device : devices) {
    if (&device != &devices.front()) text += ", ";
    text += device.name;
    if (device.kind == DeviceKind::cuda) text += " (" + std::to_string(device.index) + ")";
  }
  return text;
}

// "; GPUs that mgtune knows: L4, H200".
std::string products_text(const std::vector<GpuProduct>& products) {
  std::string text;
  for (const GpuProduct& product : products) {
    text += (text.empty() ? "; GPUs that mgtune knows: " : ", ") + product.name;
  }
  return text;
}

// The driver calls a MIG instance "NVIDIA H200 MIG 1g.18gb". The product is the part before " MIG".
std::string_view product_part(std::string_view name) { return name.substr(0, name.find(" MIG ")); }

bool is_one_of(const DeviceInfo& device, const GpuProduct& product) {
  return device.kind == DeviceKind::cuda && product.is_called(product_part(device.name));
}

// A GPU that has no file in configs/gpus can still be selected by the driver's name for it.
bool answers_to(const DeviceInfo& device, std::string_view word) {
  if (device.kind != DeviceKind::cuda) return false;
  std::string_view name = product_part(device.name);
  if (same_word(name, word)) return true;
  constexpr std::string_view kMaker = "NVIDIA ";
  return name.starts_with(kMaker) && same_word(name.substr(kMaker.size()), word);
}

bool is_index(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_uuid(std::string_view word) {
  return same_word(word.substr(0, 4), "GPU-") || same_word(word.substr(0, 4), "MIG-");
}

// The first device for which `matches` holds.
template <typename Predicate>
std::vector<DeviceInfo> first(const std::vector<DeviceInfo>& devices, Predicate matches) {
  const auto found = std::ranges::find_if(devices, matches);
  if (found == devices.end()) return {};
  return {*found};
}

bool is_gpu(const DeviceInfo& device) { return device.kind == DeviceKind::cuda; }

// Selects the GPUs of a list such as "0,1", each once.
Result<std::vector<DeviceInfo>> select_each(const std::vector<DeviceInfo>& devices,
                                            const std::vector<GpuProduct>& products,
                                            const std::string& words) {
  std::vector<DeviceInfo> selected;
  for (const std::string& word : split_list(words)) {
    if (word.empty() || word == "all" || word == "auto" || word == "cpu") {
      return invalid_argument("'" + words + "': a list names GPUs, each by an index, a UUID or a " +
                              "product");
    }
    MGTUNE_ASSIGN(const std::vector<DeviceInfo> found, select_among(devices, products, word));
    const bool is_new =
        std::ranges::find(selected, found.front().id, &DeviceInfo::id) == selected.end();
    if (is_new) selected.push_back(found.front());
  }
  return selected;
}

}  // namespace

std::vector<std::string> failing_gpus() {
  const Result<CudaDevices> found = gpus();
  return found.ok() ? found->failures : std::vector<std::string>();
}

std::vector<DeviceInfo> list_devices() {
  const Result<CudaDevices> found = gpus();
  std::vector<DeviceInfo> devices = found.ok() ? found->devices : std::vector<DeviceInfo>();
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
  if (const Result<CudaDevices> found = gpus(); found.ok() && !found->devices.empty()) {
    Result<std::vector<DeviceInfo>> selected = select_among(found->devices, products, word);
    if (selected.ok()) return selected;
  }
  const std::vector<DeviceInfo> devices = list_devices();
  // If the cpu device is missing too, the message says why.
  if (word == "auto" && devices.empty()) MGTUNE_TRY(cpu_plugin().status());
  Result<std::vector<DeviceInfo>> selected = select_among(devices, products, word);
  if (selected.status().code() != StatusCode::environment || !means_gpu(word)) return selected;
  const Result<CudaDevices> found = gpus();
  std::string message = selected.status().message();
  if (!found.ok()) return environment_error(message + "\n" + found.status().message());
  for (const std::string& failure : found->failures) message += "\n" + failure;
  return environment_error(message);
}

Result<std::vector<DeviceInfo>> select_among(const std::vector<DeviceInfo>& devices,
                                             const std::vector<GpuProduct>& products,
                                             const std::string& word) {
  if (word.find(',') != std::string::npos) return select_each(devices, products, word);
  std::string wanted = word;  // as the message names it
  std::vector<DeviceInfo> found;
  if (word == "all") {
    std::ranges::copy_if(devices, std::back_inserter(found), is_gpu);
    wanted = "GPU";
  } else if (word == "cpu" || (word == "auto" && std::ranges::none_of(devices, is_gpu))) {
    found = first(devices, [](const DeviceInfo& d) { return d.kind == DeviceKind::cpu; });
    wanted = "cpu device";
  } else if (word == "auto") {
    found = first(devices, is_gpu);
  } else if (is_index(word)) {
    // -1, which no GPU has, for a number that is too large for any machine.
    const int index = parse_number<int>(word).value_or(-1);
    found = first(devices, [&](const DeviceInfo& d) { return is_gpu(d) && d.index == index; });
    wanted = "GPU with index " + word;
  } else if (is_uuid(word)) {
    found = first(devices, [&](const DeviceInfo& d) { return same_word(d.id, word); });
    wanted = "GPU with UUID " + word;
  } else {
    bool known = false;
    found = first(devices, [&](const DeviceInfo& d) { return answers_to(d, word); });
    for (const GpuProduct& product : products) {
      if (!product.is_called(word)) continue;
      known = true;
      if (!found.empty()) break;
      found = first(devices, [&](const DeviceInfo& d) { return is_one_of(d, product); });
    }
    if (!known && found.empty()) {
      std::vector<std::string> names = {"all", "auto", "cpu"};
      for (const DeviceInfo& device : devices) names.push_back(device.name);
      return invalid_argument("no GPU is called '" + word + "'" +
                              suggest_gpu(word, products, std::move(names)) +
                              devices_here(devices) + products_text(products));
    }
  }
  if (!found.empty()) return found;
  return environment_error("no " + wanted + " in this machine" + devices_here(devices));
}

std::string suggest_gpu(const std::string& word, const std::vector<GpuProduct>& products,
                        std::vector<std::string> names) {
  for (const GpuProduct& product : products) {
    names.push_back(product.name);
    names.insert(names.end(), product.aliases.begin(), product.aliases.end());
  }
  std::string hint = did_you_mean(word, names);
  if (!hint.empty()) return hint;
  // "l44": most product names are in capitals.
  std::string capitals = word;
  std::ranges::transform(capitals, capitals.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return did_you_mean(capitals, names);
}

Result<std::unique_ptr<Device>> open_device(const std::string& id) {
  if (id == kCpuDeviceId) {
    MGTUNE_ASSIGN(const DevicePlugin* plugin, cpu_plugin());
    std::unique_ptr<Device> device;
    MGTUNE_TRY(plugin->open(&device));
    return device;
  }
  const std::string missing = "no device " + id + " in this machine";
  const Result<CudaDevices> found = gpus();
  if (!found.ok()) return found.status().with_context(missing);
  for (const DeviceInfo& gpu : found->devices) {
    if (gpu.id == id) return open_cuda_device(*cuda_driver(), gpu.index);
  }
  return environment_error(missing);
}

}  // namespace mgtune
