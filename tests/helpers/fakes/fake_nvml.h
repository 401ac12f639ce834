// FakeNvml: an NVML with one GPU, and one MIG instance of it, for tests. Any of its functions can
// be told to refuse. One at a time.

#pragma once

#include <map>
#include <string>

#include "tests/helpers/fakes/fake_loader.h"

namespace mgtune {

class FakeNvml {
 public:
  static constexpr char kFile[] = "libnvidia-ml.so.1";
  static constexpr char kGpu[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  static constexpr char kInstance[] = "MIG-10010203-0405-0607-0809-0a0b0c0d0e0f";

  // What tests set.
  std::map<std::string, int> refused;  // function -> what it returns instead of success
  unsigned long long reasons = 0;
  unsigned long long energy_mj = 5'000'000;

  // What tests read.
  int sessions = 0;  // started and not shut down

  FakeNvml() { self() = this; }
  ~FakeNvml() { self() = nullptr; }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  static FakeLoader::Symbols symbols() {
    FakeLoader::Symbols table;
    table["nvmlInit_v2"] = as_symbol(+[] { return count_session("nvmlInit_v2", 1); });
    table["nvmlShutdown"] = as_symbol(+[] { return count_session("nvmlShutdown", -1); });
    table["nvmlErrorString"] = as_symbol(+[](int result) -> const char* {
      if (result == 6) return "Not Found";
      if (result == 9) return "Driver Not Loaded";
      return result == 4 ? "Insufficient Permissions" : nullptr;
    });
    table["nvmlDeviceGetHandleByUUID"] = as_symbol(+[](const char* uuid, void** device) {
      const std::string id = uuid;
      if (id != kGpu && id != kInstance) return 6;
      *device = id == kGpu ? gpu() : instance();
      return 0;
    });
    table["nvmlDeviceGetDeviceHandleFromMigDeviceHandle"] =
        as_symbol(+[](void* device, void** parent) {
          *parent = gpu();
          const int refusal = refusal_of("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
          return device == instance() ? refusal : 2;
        });
    table["nvmlDeviceGetClockInfo"] = as_symbol(+[](void* device, int clock, unsigned int* mhz) {
      *mhz = clock == 1 ? 1980 : 3201;
      return answer(device,
                    clock == 1 ? "nvmlDeviceGetClockInfo SM" : "nvmlDeviceGetClockInfo MEM");
    });
    table["nvmlDeviceGetMaxClockInfo"] = as_symbol(+[](void* device, int clock, unsigned int* mhz) {
      *mhz = clock == 1 ? 2000 : 3300;
      return answer(device, "nvmlDeviceGetMaxClockInfo");
    });
    table["nvmlDeviceGetPowerUsage"] = as_symbol(+[](void* device, unsigned int* milliwatts) {
      *milliwatts = 123'456;
      return answer(device, "nvmlDeviceGetPowerUsage");
    });
    table["nvmlDeviceGetEnforcedPowerLimit"] =
        as_symbol(+[](void* device, unsigned int* milliwatts) {
          *milliwatts = 700'000;
          return answer(device, "nvmlDeviceGetEnforcedPowerLimit");
        });
    table["nvmlDeviceGetTemperature"] = as_symbol(+[](void* device, int sensor, unsigned int* c) {
      *c = sensor == 0 ? 41 : 0;
      return answer(device, "nvmlDeviceGetTemperature");
    });
    table["nvmlDeviceGetCurrentClocksEventReasons"] =
        as_symbol(+[](void* device, unsigned long long* bits) {
          *bits = self()->reasons;
          return answer(device, "nvmlDeviceGetCurrentClocksEventReasons");
        });
    table["nvmlDeviceGetTotalEnergyConsumption"] =
        as_symbol(+[](void* device, unsigned long long* millijoules) {
          *millijoules = self()->energy_mj;
          return answer(device, "nvmlDeviceGetTotalEnergyConsumption");
        });
    return table;
  }

 private:
  static FakeNvml*& self() {
    static FakeNvml* nvml = nullptr;
    return nvml;
  }
  static void* gpu() { return &self()->sessions; }
  static void* instance() { return &self()->reasons; }

  static int refusal_of(const std::string& function) {
    const auto found = self()->refused.find(function);
    return found == self()->refused.end() ? 0 : found->second;
  }
  // An instance has none of the readings.
  static int answer(void* device, const std::string& function) {
    return device == gpu() ? refusal_of(function) : 3;
  }
  static int count_session(const std::string& function, int change) {
    const int refusal = refusal_of(function);
    if (refusal == 0) self()->sessions += change;
    return refusal;
  }
};

}  // namespace mgtune
