#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tensors/problem_tensors.h"
#include "tests/helpers/fakes/memory_device.h"

namespace mgtune {
namespace {

TensorLayout vector_of(const std::string& name, Role role, std::int64_t count) {
  TensorLayout layout;
  layout.name = name;
  layout.role = role;
  layout.shape = {count};
  layout.strides = {1};
  layout.count = layout.span = count;
  layout.align = 16;
  return layout;
}

class TimedSetsTest : public testing::Test {
 protected:
  TimedSetsTest()
      : layouts_{vector_of("x", Role::in, 100), vector_of("y", Role::out, 100),
                 vector_of("z", Role::inout, 3)},
        first_(ProblemTensors::allocate(device_, layouts_, Placement::guarded).value()) {
    first_.set_content(0, content(100, 1));
    first_.set_content(2, content(3, 2));
    EXPECT_TRUE(first_.prepare().ok());
  }

  static Bytes content(std::size_t count, float value) {
    const std::vector<float> values(count, value);
    Bytes bytes(count * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  static float* floats(const ProblemTensors& tensors, std::size_t tensor) {
    return static_cast<float*>(tensors.pointers()[tensor]);
  }

  MemoryDevice device_;
  std::vector<TensorLayout> layouts_;
  ProblemTensors first_;
};

TEST_F(TimedSetsTest, HaveNoGuardBands) {
  TimedSets sets(device_, layouts_);
  ASSERT_TRUE(sets.provide(2, first_).ok());
  for (std::int64_t set = 0; set < 2; ++set) {
    for (std::size_t tensor = 0; tensor < layouts_.size(); ++tensor) {
      EXPECT_EQ(device_.bytes_at(sets[set].pointers()[tensor]), layouts_[tensor].bytes());
    }
  }
  for (const void* const tensor : first_.pointers()) EXPECT_EQ(device_.bytes_at(tensor), 0U);
}

TEST_F(TimedSetsTest, HaveTheContentOfTheFirst) {
  TimedSets sets(device_, layouts_);
  ASSERT_TRUE(sets.provide(1, first_).ok());
  EXPECT_EQ(floats(sets[0], 0)[99], 1.0F);
  EXPECT_EQ(floats(sets[0], 2)[2], 2.0F);
}

TEST_F(TimedSetsTest, WhatLaunchesChangeIsFreshAgain) {
  TimedSets sets(device_, layouts_);
  ASSERT_TRUE(sets.provide(1, first_).ok());
  floats(sets[0], 2)[1] = floats(first_, 2)[1] = 1e30F;
  ASSERT_TRUE(sets.provide(1, first_).ok());
  EXPECT_EQ(floats(sets[0], 2)[1], 2.0F);
  EXPECT_EQ(floats(first_, 2)[1], 2.0F);
}

TEST_F(TimedSetsTest, AreKeptUntilMoreAreWanted) {
  TimedSets sets(device_, layouts_);
  ASSERT_TRUE(sets.provide(1, first_).ok());
  const void* const x = sets[0].pointers()[0];
  const int before = device_.allocations();
  ASSERT_TRUE(sets.provide(3, first_).ok());
  EXPECT_EQ(device_.allocations(), before + 6);
  EXPECT_EQ(sets[0].pointers()[0], x);
  ASSERT_TRUE(sets.provide(0, first_).ok());
  EXPECT_EQ(device_.allocations(), before + 6);
}

TEST_F(TimedSetsTest, ThatDoNotFitAreTheMachines) {
  device_.largest_allocation = 399;
  TimedSets sets(device_, layouts_);
  const Status status = sets.provide(1, first_);
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), testing::HasSubstr("tensor x"));
}

}  // namespace
}  // namespace mgtune
