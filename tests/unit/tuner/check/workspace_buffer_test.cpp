#include "tensors/workspace_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/helpers/fakes/fake_device.h"

namespace mgtune {
namespace {

class CountingDevice final : public FakeDevice {
 public:
  int allocations = 0;

  Result<void*> allocate(std::size_t bytes) override {
    ++allocations;
    return FakeDevice::allocate(bytes);
  }
};

class WorkspaceBufferTest : public testing::Test {
 protected:
  WorkspaceBuffer workspace(std::int64_t bytes, std::int64_t zeroed, WorkspaceBuffer last = {}) {
    return WorkspaceBuffer::allocate(device_, {bytes, zeroed}, 0, Placement::guarded,
                                     std::move(last))
        .value();
  }
  static unsigned char* bytes_of(const WorkspaceBuffer& workspace) {
    return static_cast<unsigned char*>(workspace.data());
  }

  CountingDevice device_;
};

TEST_F(WorkspaceBufferTest, TakesTheMemoryOfTheLastOneAndFillsIt) {
  WorkspaceBuffer last = workspace(1000, 0);
  bytes_of(last)[0] = bytes_of(last)[999] = 7;
  const WorkspaceBuffer next = workspace(500, 8, std::move(last));
  EXPECT_EQ(device_.allocations, 1);
  EXPECT_EQ(bytes_of(next)[0], 0);
  EXPECT_EQ(bytes_of(next)[8], 0xff);
  EXPECT_EQ(next.damage().value(), "");
  bytes_of(next)[500] = 0;
  EXPECT_EQ(next.damage().value(), "workspace: written past its end, at byte 500 of 500");
}

TEST_F(WorkspaceBufferTest, AllocatesWhenTheLastOneIsTooSmall) {
  const WorkspaceBuffer next = workspace(5000, 0, workspace(1000, 0));
  EXPECT_EQ(device_.allocations, 2);
  EXPECT_EQ(bytes_of(next)[4999], 0xff);
  const WorkspaceBuffer first = workspace(10, 0);
  EXPECT_EQ(device_.allocations, 3);
}

TEST_F(WorkspaceBufferTest, OnTheCpuEachHasItsOwn) {
  device_.device_info.kind = DeviceKind::cpu;
  const WorkspaceBuffer next = workspace(1000, 0, workspace(1000, 0));
  EXPECT_EQ(device_.allocations, 2);
}

}  // namespace
}  // namespace mgtune
