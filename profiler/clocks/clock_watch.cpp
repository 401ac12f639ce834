#include "clocks/clock_watch.h"

#include <array>
#include <utility>

#include "clocks/nvml_library.h"

namespace mgtune {
namespace {

constexpr double kWattsPerMilliwatt = 1e-3;

struct ThrottleReason {
  std::uint64_t bit;  // nvmlClocksEventReason...
  const char* word;
};

constexpr std::array kThrottleReasons = {
    ThrottleReason{0x04, "sw_power_cap"},        ThrottleReason{0x08, "hw_slowdown"},
    ThrottleReason{0x20, "sw_thermal_slowdown"}, ThrottleReason{0x40, "hw_thermal_slowdown"},
    ThrottleReason{0x80, "hw_power_brake"},
};

class NvmlClockWatch final : public ClockWatch {
 public:
  static Result<std::unique_ptr<NvmlClockWatch>> open(const std::string& device_id,
                                                      LibraryLoader& loader) {
    MGTUNE_ASSIGN(NvmlSession session, NvmlSession::start(loader));
    MGTUNE_ASSIGN(NvmlDeviceHandle* const device, session.device(device_id));
    return std::unique_ptr<NvmlClockWatch>(new NvmlClockWatch(std::move(session), device));
  }

  ClockSample read() override {
    const NvmlLibrary& nvml = session_.nvml();
    ClockSample sample;
    sample.sm_mhz = number(nvml.clock_mhz, kNvmlClockSm);
    sample.memory_mhz = number(nvml.clock_mhz, kNvmlClockMemory);
    sample.power_w = number(nvml.power_mw) * kWattsPerMilliwatt;
    sample.temperature_c = number(nvml.temperature_c, kNvmlTemperatureGpu);
    unsigned long long reasons = 0;
    if (nvml.clock_reasons != nullptr && nvml.clock_reasons(device_, &reasons) == kNvmlSuccess) {
      sample.reasons = reasons;
    }
    return sample;
  }

  ClockLimits limits() const {
    const NvmlLibrary& nvml = session_.nvml();
    ClockLimits limits;
    limits.sm_mhz = number(nvml.max_clock_mhz, kNvmlClockSm);
    limits.memory_mhz = number(nvml.max_clock_mhz, kNvmlClockMemory);
    limits.power_w = number(nvml.enforced_power_limit_mw) * kWattsPerMilliwatt;
    return limits;
  }

 private:
  NvmlClockWatch(NvmlSession session, NvmlDevice device)
      : session_(std::move(session)), device_(device) {}

  // 0 if the driver does not have the function, or the function fails. `what` are the arguments
  // between the device and the value.
  template <typename Function, typename... What>
  double number(Function* function, What... what) const {
    unsigned int value = 0;
    return function != nullptr && function(device_, what..., &value) == kNvmlSuccess ? value : 0;
  }

  NvmlSession session_;
  NvmlDevice device_;
};

}  // namespace

bool is_throttled(std::uint64_t reasons) { return !throttle_text(reasons).empty(); }

std::string throttle_text(std::uint64_t reasons) {
  std::string text;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if ((reasons & reason.bit) == 0) continue;
    if (!text.empty()) text += ' ';
    text += reason.word;
  }
  return text;
}

Result<std::unique_ptr<ClockWatch>> open_clock_watch(const std::string& device_id,
                                                     LibraryLoader& loader) {
  MGTUNE_ASSIGN(std::unique_ptr<ClockWatch> watch, NvmlClockWatch::open(device_id, loader));
  return watch;
}

Result<ClockLimits> read_clock_limits(const std::string& device_id, LibraryLoader& loader) {
  MGTUNE_ASSIGN(const auto watch, NvmlClockWatch::open(device_id, loader));
  return watch->limits();
}

}  // namespace mgtune
