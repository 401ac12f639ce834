// What naming a device starts: nothing that only other devices need. On the stand-in for a GPU.

#include <gtest/gtest.h>

#include "device/registry.h"
#include "tests/helpers/fakes/stand_in_gpu.h"

namespace mgtune {
namespace {

// One test, since a process starts a driver and loads a library once.
TEST(DeviceStart, OnlyWhatTheWordNeeds) {
  const StandInGpu gpu;
  EXPECT_EQ(open_device(select_devices("cpu")->at(0).id).value()->info().name, "cpu");
  EXPECT_EQ(gpu.inits(), 0);
  EXPECT_EQ(select_devices("auto")->at(0).name, "NVIDIA H200");
  EXPECT_EQ(select_devices("all")->size(), 1U);
  EXPECT_EQ(gpu.inits(), 1);
  EXPECT_EQ(list_devices().size(), 2U);
}

}  // namespace
}  // namespace mgtune
