#include "energy/energy_counter.h"

#include <utility>

#include "clocks/nvml_library.h"

namespace mgtune {
namespace {

constexpr double kJoulesPerMillijoule = 1e-3;

class NvmlEnergyCounter final : public EnergyCounter {
 public:
  NvmlEnergyCounter(NvmlSession session, NvmlDevice device)
      : session_(std::move(session)), device_(device) {}

  Result<double> joules() override {
    unsigned long long millijoules = 0;
    const NvmlLibrary& nvml = session_.nvml();
    MGTUNE_TRY(
        nvml.status(nvml.total_energy_mj(device_, &millijoules), "the energy counter of this GPU"));
    return static_cast<double>(millijoules) * kJoulesPerMillijoule;
  }

 private:
  NvmlSession session_;
  NvmlDevice device_;
};

}  // namespace

Result<std::unique_ptr<EnergyCounter>> open_energy_counter(const std::string& device_id,
                                                           LibraryLoader& loader) {
  if (device_id.starts_with("MIG-")) {
    return environment_error(
        "a MIG instance has no energy counter: that of its GPU counts all instances");
  }
  MGTUNE_ASSIGN(NvmlSession session, NvmlSession::start(loader));
  MGTUNE_ASSIGN(NvmlDeviceHandle* const device, session.device(device_id));
  if (session.nvml().total_energy_mj == nullptr) {
    return environment_error("this driver's NVML has no energy counter");
  }
  std::unique_ptr<EnergyCounter> counter =
      std::make_unique<NvmlEnergyCounter>(std::move(session), device);
  MGTUNE_TRY(counter->joules().status());
  return counter;
}

}  // namespace mgtune
