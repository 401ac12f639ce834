#include "device/registry.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

TEST(Registry, TheCpuDeviceIsHereAndComesLast) {
  const std::vector<DeviceInfo> devices = list_devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back().id, "cpu");
  EXPECT_EQ(devices.back().name, "cpu");
  EXPECT_EQ(devices.back().kind, DeviceKind::cpu);
  EXPECT_EQ(devices.back().index, -1);
  EXPECT_EQ(devices.back().memory_bytes, 0);
}

TEST(Registry, OpensTheCpuDeviceAsOftenAsAsked) {
  for (int i = 0; i < 2; ++i) {
    const Result<std::unique_ptr<Device>> device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    EXPECT_EQ((*device)->info().id, "cpu");
  }
}

TEST(Registry, NamesADeviceThatIsNotHere) {
  const Status status = open_device("GPU-none").status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_TRUE(status.message().starts_with("no device GPU-none in this machine"));
}

TEST(Registry, SelectsAmongTheDevicesOfThisMachine) {
  EXPECT_EQ(select_devices("cpu")->at(0).id, "cpu");
  EXPECT_EQ(select_devices("auto")->at(0).id, list_devices().front().id);
  EXPECT_EQ(select_devices("L44").status().code(), StatusCode::invalid_argument);
}

TEST(Buffer, FreesItsMemoryOnceHoweverOftenItMoved) {
  const std::unique_ptr<Device> device = open_device("cpu").value();
  Buffer first = Buffer::allocate(*device, 100).value();
  void* const data = first.data();
  EXPECT_EQ(first.bytes(), 100u);
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  second = Buffer::allocate(*device, 8).value();  // frees the 100 bytes
  EXPECT_EQ(second.bytes(), 8u);
}

}  // namespace
}  // namespace mgtune
