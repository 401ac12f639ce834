#include "clocks/clock_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/helpers/fakes/fake_nvml.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

class ClockWatchTest : public testing::Test {
 protected:
  ClockWatchTest() { loader_.libraries[FakeNvml::kFile] = FakeNvml::symbols(); }

  ClockSample read(const std::string& id = FakeNvml::kGpu) {
    const auto watch = open_clock_watch(id, loader_);
    EXPECT_TRUE(watch.ok()) << watch.status().message();
    return watch.ok() ? (*watch)->read() : ClockSample();
  }

  // Of opening a watch, which leaves no session behind.
  std::string failure(const std::string& id = FakeNvml::kGpu) {
    const Status status = open_clock_watch(id, loader_).status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_EQ(nvml_.sessions, 0);
    EXPECT_EQ(read_clock_limits(id, loader_).status().message(), status.message());
    return status.message();
  }

  FakeNvml nvml_;
  FakeLoader loader_;
};

TEST_F(ClockWatchTest, ReadsEveryField) {
  nvml_.reasons = 0x44;
  const ClockSample sample = read();
  EXPECT_EQ(sample.sm_mhz, 1980);
  EXPECT_EQ(sample.memory_mhz, 3201);
  EXPECT_DOUBLE_EQ(sample.power_w, 123.456);
  EXPECT_EQ(sample.temperature_c, 41);
  EXPECT_EQ(sample.reasons, 0x44U);
}

TEST_F(ClockWatchTest, AnInstanceHasTheReadingsOfItsGpu) {
  EXPECT_EQ(read(FakeNvml::kInstance).sm_mhz, 1980);
  EXPECT_EQ(read_clock_limits(FakeNvml::kInstance, loader_)->power_w, 700);
}

TEST_F(ClockWatchTest, NvmlStaysStartedAsLongAsAWatchIsOpen) {
  {
    auto first = open_clock_watch(FakeNvml::kGpu, loader_).value();
    const auto second = open_clock_watch(FakeNvml::kGpu, loader_).value();
    EXPECT_EQ(nvml_.sessions, 2);
    first.reset();
    EXPECT_EQ(nvml_.sessions, 1);
    EXPECT_EQ(second->read().sm_mhz, 1980);
  }
  EXPECT_EQ(nvml_.sessions, 0);
}

struct Field {
  const char* function;
  double ClockSample::*member;
};

// Refused, or not in this driver's library at all.
TEST_F(ClockWatchTest, AFieldThatFailsLeavesTheOthers) {
  const Field fields[] = {{"nvmlDeviceGetClockInfo SM", &ClockSample::sm_mhz},
                          {"nvmlDeviceGetClockInfo MEM", &ClockSample::memory_mhz},
                          {"nvmlDeviceGetPowerUsage", &ClockSample::power_w},
                          {"nvmlDeviceGetTemperature", &ClockSample::temperature_c}};
  nvml_.reasons = 8;
  for (const Field& refused : fields) {
    for (const bool is_absent : {false, true}) {
      const std::string symbol = refused.function;
      if (is_absent && symbol.starts_with("nvmlDeviceGetClockInfo")) continue;
      nvml_.refused = {{refused.function, 3}};
      loader_.libraries[FakeNvml::kFile] = FakeNvml::symbols();
      if (is_absent) loader_.libraries[FakeNvml::kFile].erase(symbol);
      const ClockSample sample = read();
      for (const Field& field : fields) {
        EXPECT_EQ(sample.*field.member == 0, field.function == refused.function)
            << field.function << " while " << refused.function << " is refused";
      }
      EXPECT_EQ(sample.reasons, 8U);
    }
  }
  loader_.libraries[FakeNvml::kFile].erase("nvmlDeviceGetClockInfo");
  const ClockSample sample = read();
  EXPECT_EQ(sample.sm_mhz, 0);
  EXPECT_EQ(sample.memory_mhz, 0);
}

TEST_F(ClockWatchTest, ReasonsHaveAnOlderName) {
  nvml_.reasons = 4;
  FakeLoader::Symbols& symbols = loader_.libraries[FakeNvml::kFile];
  auto reasons = symbols.extract("nvmlDeviceGetCurrentClocksEventReasons");
  EXPECT_EQ(read().reasons, 0U);  // neither is there
  reasons.key() = "nvmlDeviceGetCurrentClocksThrottleReasons";
  symbols.insert(std::move(reasons));
  EXPECT_EQ(read().reasons, 4U);
  nvml_.refused = {{"nvmlDeviceGetCurrentClocksEventReasons", 3}};
  EXPECT_EQ(read().reasons, 0U);
  EXPECT_EQ(read().sm_mhz, 1980);
}

TEST_F(ClockWatchTest, SaysWhatTheGpuMayReach) {
  const Result<ClockLimits> limits = read_clock_limits(FakeNvml::kGpu, loader_);
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  EXPECT_EQ(limits->sm_mhz, 2000);
  EXPECT_EQ(limits->memory_mhz, 3300);
  EXPECT_EQ(limits->power_w, 700);
  EXPECT_EQ(nvml_.sessions, 0);

  nvml_.refused = {{"nvmlDeviceGetMaxClockInfo", 3}};
  EXPECT_EQ(read_clock_limits(FakeNvml::kGpu, loader_)->sm_mhz, 0);
  EXPECT_EQ(read_clock_limits(FakeNvml::kGpu, loader_)->power_w, 700);
  nvml_.refused = {{"nvmlDeviceGetEnforcedPowerLimit", 3}};
  EXPECT_EQ(read_clock_limits(FakeNvml::kGpu, loader_)->memory_mhz, 3300);
  EXPECT_EQ(read_clock_limits(FakeNvml::kGpu, loader_)->power_w, 0);
}

TEST_F(ClockWatchTest, SaysThatThereIsNoLibrary) {
  loader_.libraries.clear();
  EXPECT_EQ(failure(), "no NVML: not found: libnvidia-ml.so.1");
  loader_.broken[FakeNvml::kFile] = "libnvidia-ml.so.1: wrong ELF class";
  EXPECT_EQ(failure(), "no NVML: libnvidia-ml.so.1: wrong ELF class");
}

TEST_F(ClockWatchTest, NamesAMissingFunction) {
  for (const char* name :
       {"nvmlInit_v2", "nvmlShutdown", "nvmlErrorString", "nvmlDeviceGetHandleByUUID"}) {
    loader_.libraries[FakeNvml::kFile] = FakeNvml::symbols();
    loader_.libraries[FakeNvml::kFile].erase(name);
    EXPECT_EQ(failure(), std::string("libnvidia-ml.so.1 has no ") + name);
  }
}

TEST_F(ClockWatchTest, SaysWhyItDoesNotStart) {
  nvml_.refused = {{"nvmlInit_v2", 9}};
  EXPECT_EQ(failure(), "NVML at libnvidia-ml.so.1 does not start: Driver Not Loaded");
  nvml_.refused = {{"nvmlInit_v2", 999}};  // without a text
  EXPECT_EQ(failure(), "NVML at libnvidia-ml.so.1 does not start: NVML's error 999");
}

TEST_F(ClockWatchTest, SaysThatItDoesNotKnowTheDevice) {
  EXPECT_EQ(failure("GPU-1"), "NVML, asked for GPU-1: Not Found");
  EXPECT_EQ(failure("cpu"), "NVML, asked for cpu: Not Found");
}

TEST_F(ClockWatchTest, SaysWhyAnInstanceHasNoGpu) {
  const char* const function = "nvmlDeviceGetDeviceHandleFromMigDeviceHandle";
  nvml_.refused = {{function, 4}};
  EXPECT_THAT(failure(FakeNvml::kInstance), HasSubstr(": Insufficient Permissions"));
  loader_.libraries[FakeNvml::kFile].erase(function);
  EXPECT_THAT(failure(FakeNvml::kInstance), HasSubstr("this driver cannot say"));
}

TEST(Throttle, IsWhatHoldsTheClocksDown) {
  for (const std::uint64_t reasons : {0x04, 0x08, 0x20, 0x40, 0x80, 0xc5, 0xff}) {
    EXPECT_TRUE(is_throttled(reasons)) << reasons;
  }
  // Idle, application clocks, sync boost, display clock; bits of newer drivers.
  for (const std::uint64_t reasons : {0x000, 0x001, 0x002, 0x010, 0x100, 0x113, 0x10000}) {
    EXPECT_FALSE(is_throttled(reasons)) << reasons;
    EXPECT_EQ(throttle_text(reasons), "");
  }
}

TEST(Throttle, HasWords) {
  EXPECT_EQ(throttle_text(0x44), "sw_power_cap hw_thermal_slowdown");
  EXPECT_EQ(throttle_text(0x1ff),
            "sw_power_cap hw_slowdown sw_thermal_slowdown hw_thermal_slowdown hw_power_brake");
}

}  // namespace
}  // namespace mgtune
