#include "timing/buffer_rotation.h"

#include <gtest/gtest.h>

#include "tests/helpers/fakes/fake_device.h"

namespace mgtune {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kL2 = 60 * kMiB;
constexpr std::int64_t kFree = 140'000 * kMiB;

TEST(BufferRotation, FillsThreeTimesTheL2) {
  EXPECT_EQ(plan_buffer_rotation(kMiB, kL2, kFree).sets, 180);
  EXPECT_EQ(plan_buffer_rotation(64 * kMiB, kL2, kFree).sets, 3);  // 2.8, rounded up
  EXPECT_EQ(plan_buffer_rotation(64 * kMiB, kL2, kFree).note, "");
}

TEST(BufferRotation, HasAtLeastTwoSets) {
  EXPECT_EQ(plan_buffer_rotation(180 * kMiB, kL2, kFree).sets, 2);
  EXPECT_EQ(plan_buffer_rotation(5000 * kMiB, kL2, kFree).sets, 2);
  EXPECT_EQ(plan_buffer_rotation(5000 * kMiB, kL2, kFree).note, "");
}

TEST(BufferRotation, AProblemCanBeTooSmall) {
  const BufferRotation rotation = plan_buffer_rotation(32 << 10, kL2, kFree);
  EXPECT_EQ(rotation.sets, 1024);
  EXPECT_EQ(
      rotation.note,
      "problem too small to rotate: 1024 sets of 32 KiB do not fill three times the L2, 180 MiB");
  EXPECT_EQ(plan_buffer_rotation(100, kL2, kFree).note,
            "problem too small to rotate: 1024 sets of 100 bytes do not fill three times the L2, "
            "180 MiB");
  EXPECT_EQ(plan_buffer_rotation(0, kL2, kFree).sets, 1024);
}

TEST(BufferRotation, TakesNoMoreThanNineTenthsOfTheFreeMemory) {
  const BufferRotation rotation = plan_buffer_rotation(10 * kMiB, kL2, 100 * kMiB);
  EXPECT_EQ(rotation.sets, 9);
  EXPECT_EQ(rotation.note,
            "too little free memory to rotate: 9 sets of 10 MiB do not fill three times the L2, "
            "180 MiB");
}

TEST(BufferRotation, OneSetIsTheLeast) {
  const BufferRotation full = plan_buffer_rotation(10 * kMiB, kL2, kMiB);
  EXPECT_EQ(full.sets, 1);
  EXPECT_EQ(full.note,
            "too little free memory to rotate: one set of 10 MiB does not fill three times the L2, "
            "180 MiB");
  EXPECT_EQ(plan_buffer_rotation(100'000 * kMiB, kL2, kFree).note,
            "too little free memory to rotate: there is 140000 MiB for one set of 100000 MiB");
}

TEST(BufferRotation, TheCpuDeviceHasOneSet) {
  FakeDevice device;
  device.device_info.kind = DeviceKind::cpu;
  const Result<BufferRotation> rotation = plan_buffer_rotation(device, kMiB);
  ASSERT_TRUE(rotation.ok());
  EXPECT_EQ(rotation->sets, 1);
  EXPECT_EQ(rotation->note, "the same buffers in every launch");
}

TEST(TimedBuffers, AreTheRotationsForMethodsThatTurn) {
  const TimedBuffers timed = timed_buffers({180, "a note"}, true);
  EXPECT_EQ(timed.own_sets, 180);
  EXPECT_EQ(timed.note, "a note");
}

TEST(TimedBuffers, AreOneSetForMethodsThatStay) {
  const TimedBuffers timed = timed_buffers({180, "problem too small to rotate: ..."}, false);
  EXPECT_EQ(timed.own_sets, 1);
  EXPECT_EQ(timed.note, "");
}

TEST(TimedBuffers, AreNoneOfTheirOwnWhereThereIsNoRoomForTwo) {
  EXPECT_EQ(timed_buffers({1, "too little free memory to rotate: ..."}, true).own_sets, 0);
  EXPECT_EQ(timed_buffers({1, "why"}, true).note, "why");
  const TimedBuffers still = timed_buffers({1, "why"}, false);
  EXPECT_EQ(still.own_sets, 0);
  EXPECT_EQ(still.note,
            "timed between guard bands: too little free memory for tensors besides the check's");
}

}  // namespace
}  // namespace mgtune
