// NvmlLibrary: the functions of NVML, the driver's management library, that read clocks, power,
// energy and temperature, opened at run time. No function here sets anything.
//
// The machine that builds mgtune does not need nvml.h: the names, types and values below are those
// of NVIDIA's documented ABI (NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api). The ABI
// does not change from driver to driver: a function with a new meaning gets a new name
// (nvmlInit_v2).
//
// Values of this type may be copied and used from several threads, as NVML may.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/status.h"
#include "system/shared_library.h"

namespace mgtune {

struct NvmlDeviceHandle;  // the type that nvmlDevice_t points to
using NvmlDevice = NvmlDeviceHandle*;

// nvmlReturn_t, nvmlClockType_t and nvmlTemperatureSensors_t.
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;
constexpr int kNvmlClockMemory = 2;
constexpr int kNvmlTemperatureGpu = 0;

struct NvmlLibrary {
  using ReadNumber = int(NvmlDevice, unsigned int* value);
  using ReadNumberOf = int(NvmlDevice, int what, unsigned int* value);
  using ReadLongNumber = int(NvmlDevice, unsigned long long* value);
  using ReadReasons = int(NvmlDevice, unsigned long long* reasons);

  std::string path;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*handle_by_uuid)(const char* uuid, NvmlDevice* device) = nullptr;

  // Null if this driver does not have it.
  int (*parent_of_mig)(NvmlDevice instance, NvmlDevice* gpu) = nullptr;
  ReadNumberOf* clock_mhz = nullptr;
  ReadNumberOf* max_clock_mhz = nullptr;
  ReadNumberOf* temperature_c = nullptr;
  ReadNumber* power_mw = nullptr;
  ReadNumber* enforced_power_limit_mw = nullptr;
  ReadReasons* clock_reasons = nullptr;
  ReadLongNumber* total_energy_mj = nullptr;  // since the driver was loaded

  // ok for NVML_SUCCESS, otherwise environment: "what: NVML's text".
  Status status(int result, const std::string& what) const;
};

// A started NVML. NVML counts its starts, so sessions do not disturb each other. Move-only.
class NvmlSession {
 public:
  // Opens libnvidia-ml.so.1 of the driver and starts it. environment if it does not exist, or does
  // not have the functions that every use needs. environment too, with NVML's reason, if it does
  // not start: the driver is not loaded, or is of another release than the library.
  static Result<NvmlSession> start(LibraryLoader& loader);

  const NvmlLibrary& nvml() const { return *nvml_; }

  // Finds a device by DeviceInfo::id. For a MIG instance it is the GPU that the instance is a part
  // of, because an instance has no clocks and no power of its own. environment if NVML does not
  // know the device.
  Result<NvmlDevice> device(const std::string& id) const;

 private:
  struct ShutDown {
    void operator()(NvmlLibrary* nvml) const {
      nvml->shutdown();
      delete nvml;
    }
  };

  explicit NvmlSession(NvmlLibrary nvml) : nvml_(new NvmlLibrary(std::move(nvml))) {}

  std::unique_ptr<NvmlLibrary, ShutDown> nvml_;
};

}  // namespace mgtune
