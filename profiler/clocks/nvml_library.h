// NvmlLibrary: the functions of NVML, the driver's management library, that read clocks, power and
// temperature; opened at run time. None that is here sets anything.
//
// nvml.h need not be on the machine that builds mgtune: names, types and values below are those of
// NVIDIA's documented ABI (NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api), which is
// kept from driver to driver: a change of meaning gets a new name (nvmlInit_v2).
//
// A value of this type may be copied and used from several threads, as NVML may.

#pragma once

#include <string>

#include "system/shared_library.h"
#include "core/status.h"

namespace mgtune {

struct NvmlDeviceHandle;  // what nvmlDevice_t points at
using NvmlDevice = NvmlDeviceHandle*;

// nvmlReturn_t, nvmlClockType_t and nvmlTemperatureSensors_t.
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;
constexpr int kNvmlClockMemory = 2;
constexpr int kNvmlTemperatureGpu = 0;

struct NvmlLibrary {
  using ReadNumber = int(NvmlDevice, unsigned int* value);
  using ReadNumberOf = int(NvmlDevice, int what, unsigned int* value);
  using ReadReasons = int(NvmlDevice, unsigned long long* reasons);

  std::string path;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*handle_by_uuid)(const char* uuid, NvmlDevice* device) = nullptr;

  // Null where this driver has none.
  int (*parent_of_mig)(NvmlDevice instance, NvmlDevice* gpu) = nullptr;
  ReadNumberOf* clock_mhz = nullptr;
  ReadNumberOf* max_clock_mhz = nullptr;
  ReadNumberOf* temperature_c = nullptr;
  ReadNumber* power_mw = nullptr;
  ReadNumber* enforced_power_limit_mw = nullptr;
  ReadReasons* clock_reasons = nullptr;

  // ok for NVML_SUCCESS, else environment: "what: NVML's text".
  Status status(int result, const std::string& what) const;
};

// libnvidia-ml.so.1 of the driver. environment when it is not there or lacks what every use needs.
// Not started: see NvmlSession.
Result<NvmlLibrary> open_nvml(LibraryLoader& loader = LibraryLoader::real());

// NVML started. It counts its starts, so sessions do not disturb each other. Move-only.
class NvmlSession {
 public:
  // environment, with NVML's reason, when it does not start: the driver is not loaded, or is of
  // another release than the library.
  static Result<NvmlSession> start(NvmlLibrary nvml);

  NvmlSession(NvmlSession&& other) noexcept;
  NvmlSession& operator=(NvmlSession&& other) noexcept;
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;
  ~NvmlSession();

  const NvmlLibrary& nvml() const { return nvml_; }

  // By DeviceInfo::id. For a MIG instance it is the GPU that the instance is a part of: an instance
  // has no clocks and no power of its own. environment when NVML knows no such device.
  Result<NvmlDevice> device(const std::string& id) const;

 private:
  explicit NvmlSession(NvmlLibrary nvml) : nvml_(std::move(nvml)), is_started_(true) {}

  NvmlLibrary nvml_;
  bool is_started_ = false;
};

}  // namespace mgtune
