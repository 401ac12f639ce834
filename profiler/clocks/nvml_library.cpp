#include "clocks/nvml_library.h"

#include <array>
#include <utility>

namespace mgtune {
namespace {

// Leaves *function null if the library has none of these names.
template <typename Function>
void bind_optional(const SharedLibrary& library, std::initializer_list<const char*> names,
                   Function** function) {
  for (const char* name : names) {
    if (library.bind(name, function).ok()) return;
  }
}

}  // namespace

Status NvmlLibrary::status(int result, const std::string& what) const {
  if (result == kNvmlSuccess) return {};
  const char* const text = error_string(result);
  return environment_error(what + ": " +
                           (text != nullptr ? text : "NVML's error " + std::to_string(result)));
}

Result<NvmlSession> NvmlSession::start(LibraryLoader& loader) {
  const Result<SharedLibrary> library =
      SharedLibrary::open(std::array<std::string, 1>{"libnvidia-ml.so.1"}, loader);
  if (!library.ok()) return environment_error("no NVML: " + library.status().message());
  NvmlLibrary nvml;
  nvml.path = library->path();
  MGTUNE_TRY(library->bind("nvmlInit_v2", &nvml.init));
  MGTUNE_TRY(library->bind("nvmlShutdown", &nvml.shutdown));
  MGTUNE_TRY(library->bind("nvmlErrorString", &nvml.error_string));
  MGTUNE_TRY(library->bind("nvmlDeviceGetHandleByUUID", &nvml.handle_by_uuid));
  bind_optional(*library, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"}, &nvml.parent_of_mig);
  bind_optional(*library, {"nvmlDeviceGetClockInfo"}, &nvml.clock_mhz);
  bind_optional(*library, {"nvmlDeviceGetMaxClockInfo"}, &nvml.max_clock_mhz);
  bind_optional(*library, {"nvmlDeviceGetTemperature"}, &nvml.temperature_c);
  bind_optional(*library, {"nvmlDeviceGetPowerUsage"}, &nvml.power_mw);
  bind_optional(*library, {"nvmlDeviceGetEnforcedPowerLimit"}, &nvml.enforced_power_limit_mw);
  // The second name is that of drivers before 535. The bits are the same.
  bind_optional(
      *library,
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
      &nvml.clock_reasons);
  bind_optional(*library, {"nvmlDeviceGetTotalEnergyConsumption"}, &nvml.total_energy_mj);
  MGTUNE_TRY(nvml.status(nvml.init(), "NVML at " + nvml.path + " does not start"));
  return NvmlSession(std::move(nvml));
}

Result<NvmlDevice> NvmlSession::device(const std::string& id) const {
  NvmlDevice device = nullptr;
  MGTUNE_TRY(nvml_->status(nvml_->handle_by_uuid(id.c_str(), &device), "NVML, asked for " + id));
  if (!id.starts_with("MIG-")) return device;
  const std::string what = "NVML, asked for the GPU of " + id;
  if (nvml_->parent_of_mig == nullptr) return environment_error(what + ": this driver cannot say");
  NvmlDevice gpu = nullptr;
  MGTUNE_TRY(nvml_->status(nvml_->parent_of_mig(device, &gpu), what));
  return gpu;
}

}  // namespace mgtune
