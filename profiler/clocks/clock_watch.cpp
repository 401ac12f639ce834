#include "clocks/clock_watch.h"

#include <utility>

#include "clocks/nvml_library.h"

namespace mgtune {
namespace {

constexpr double kWattsPerMilliwatt = 1e-3;

struct WatchedDevice {
  NvmlSession session;
  NvmlDevice device;

  double number(NvmlLibrary::ReadNumber* function) const {
    unsigned int value = 0;
    return function != nullptr && function(device, &value) == kNvmlSuccess ? value : 0;
  }
  double number(NvmlLibrary::ReadNumberOf* function, int what) const {
    unsigned int value = 0;
    return function != nullptr && function(device, what, &value) == kNvmlSuccess ? value : 0;
  }
};

Result<WatchedDevice> open_device(const std::string& device_id, LibraryLoader& loader) {
  MGTUNE_ASSIGN(NvmlLibrary nvml, open_nvml(loader));
  MGTUNE_ASSIGN(NvmlSession session, NvmlSession::start(std::move(nvml)));
  MGTUNE_ASSIGN(auto* const device, session.device(device_id));
  return WatchedDevice{std::move(session), device};
}

class NvmlClockWatch final : public ClockWatch {
 public:
  explicit NvmlClockWatch(WatchedDevice gpu) : gpu_(std::move(gpu)) {}

  ClockSample read() override {
    const NvmlLibrary& nvml = gpu_.session.nvml();
    ClockSample sample;
    sample.sm_mhz = gpu_.number(nvml.clock_mhz, kNvmlClockSm);
    sample.memory_mhz = gpu_.number(nvml.clock_mhz, kNvmlClockMemory);
    sample.power_w = gpu_.number(nvml.power_mw) * kWattsPerMilliwatt;
    sample.temperature_c = gpu_.number(nvml.temperature_c, kNvmlTemperatureGpu);
    unsigned long long reasons = 0;
    if (nvml.clock_reasons != nullptr &&
        nvml.clock_reasons(gpu_.device, &reasons) == kNvmlSuccess) {
      sample.reasons = reasons;
    }
    return sample;
  }

 private:
  WatchedDevice gpu_;
};

}  // namespace

Result<std::unique_ptr<ClockWatch>> open_clock_watch(const std::string& device_id,
                                                     LibraryLoader& loader) {
  MGTUNE_ASSIGN(WatchedDevice gpu, open_device(device_id, loader));
  return std::unique_ptr<ClockWatch>(std::make_unique<NvmlClockWatch>(std::move(gpu)));
}

Result<ClockLimits> read_clock_limits(const std::string& device_id, LibraryLoader& loader) {
  MGTUNE_ASSIGN(const WatchedDevice gpu, open_device(device_id, loader));
  const NvmlLibrary& nvml = gpu.session.nvml();
  ClockLimits limits;
  limits.sm_mhz = gpu.number(nvml.max_clock_mhz, kNvmlClockSm);
  limits.memory_mhz = gpu.number(nvml.max_clock_mhz, kNvmlClockMemory);
  limits.power_w = gpu.number(nvml.enforced_power_limit_mw) * kWattsPerMilliwatt;
  return limits;
}

}  // namespace mgtune
