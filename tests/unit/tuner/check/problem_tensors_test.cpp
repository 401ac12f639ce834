#include "tensors/problem_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tensors/guarded_buffer.h"
#include "tests/helpers/fakes/memory_device.h"

namespace mgtune {
namespace {

TEST(GuardedBuffer, IsIntactUntilItsBandsAreWritten) {
  MemoryDevice device;
  for (const std::size_t bytes : {0U, 1U, 7U, 64U, 256U, 1000U}) {
    Result<GuardedBuffer> buffer = GuardedBuffer::allocate(device, bytes, 4, Placement::guarded);
    ASSERT_TRUE(buffer.ok());
    auto* const data = static_cast<unsigned char*>(buffer->data());
    std::memset(data, 0x5a, bytes);
    EXPECT_EQ(buffer->damage().value(), "");

    data[bytes] = 0;
    EXPECT_EQ(buffer->damage().value(), "written past its end, at byte " + std::to_string(bytes) +
                                            " of " + std::to_string(bytes));
    ASSERT_TRUE(buffer->write_guards().ok());
    EXPECT_EQ(buffer->damage().value(), "");

    data[bytes + 255] = 0;  // the band reaches this far at least
    EXPECT_NE(buffer->damage().value(), "");
    ASSERT_TRUE(buffer->write_guards().ok());

    data[-1] = 0;
    EXPECT_EQ(buffer->damage().value(), "written before its start, at byte -1");
    ASSERT_TRUE(buffer->write_guards().ok());
    data[-256] = 0;
    EXPECT_EQ(buffer->damage().value(), "written before its start, at byte -256");
  }
  EXPECT_EQ(device.allocations(), 0);
}

TEST(GuardedBuffer, HasRoomForLessAndKeepsBandsAroundIt) {
  MemoryDevice device;
  GuardedBuffer buffer = GuardedBuffer::allocate(device, 1000, 256, Placement::guarded).value();
  auto* const data = static_cast<unsigned char*>(buffer.data());
  EXPECT_FALSE(buffer.has_room(2000));
  for (const std::size_t bytes : {999U, 1U, 1000U}) {
    ASSERT_TRUE(buffer.has_room(bytes));
    ASSERT_TRUE(buffer.resize(bytes).ok());
    EXPECT_EQ(buffer.data(), data);
    std::memset(data, 0x5a, bytes);
    EXPECT_EQ(buffer.damage().value(), "");
    data[bytes + 255] = 0;
    EXPECT_NE(buffer.damage().value(), "");
  }
  EXPECT_FALSE(GuardedBuffer::allocate(device, 1000, 256, Placement::exact)->has_room(1));
  EXPECT_FALSE(GuardedBuffer().has_room(0));
}

TEST(GuardedBuffer, ReadingABandGivesNanInEveryFloatingType) {
  MemoryDevice device;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto size = static_cast<std::size_t>(size_in_bytes(dtype));
    const Result<GuardedBuffer> buffer =
        GuardedBuffer::allocate(device, 3 * size, size, Placement::guarded);
    ASSERT_TRUE(buffer.ok());
    EXPECT_TRUE(std::isnan(element_as_double(buffer->data(), 3, dtype)));
    EXPECT_TRUE(std::isnan(element_as_double(buffer->data(), -1, dtype)));
  }
}

TEST(GuardedBuffer, ExactPlacementTakesNoMoreThanItNeeds) {
  MemoryDevice device;
  device.largest_allocation = 100;
  EXPECT_TRUE(GuardedBuffer::allocate(device, 100, 16, Placement::exact).ok());
  EXPECT_TRUE(GuardedBuffer::allocate(device, 0, 16, Placement::exact).ok());
  EXPECT_FALSE(GuardedBuffer::allocate(device, 100, 16, Placement::guarded).ok());

  device.largest_allocation = 128;  // a page's end is a multiple of 16 alone: the rest is a band
  Result<GuardedBuffer> aligned = GuardedBuffer::allocate(device, 100, 64, Placement::exact);
  ASSERT_TRUE(aligned.ok());
  static_cast<unsigned char*>(aligned->data())[100] = 0;
  EXPECT_EQ(aligned->damage().value(), "written past its end, at byte 100 of 100");
}

TensorLayout layout_of(const std::string& name, Role role, DType dtype, std::int64_t rows,
                       std::int64_t columns, std::int64_t stride) {
  TensorLayout layout;
  layout.name = name;
  layout.role = role;
  layout.dtype = dtype;
  layout.shape = {rows, columns};
  layout.strides = {stride, 1};
  layout.count = rows * columns;
  layout.span = layout.count == 0 ? 0 : (rows - 1) * stride + columns;
  layout.align = size_in_bytes(dtype);
  return layout;
}

class ProblemTensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    layouts_ = {layout_of("x", Role::in, DType::f32, 3, 4, 6),
                layout_of("y", Role::out, DType::f16, 2, 3, 5),
                layout_of("state", Role::inout, DType::f32, 2, 2, 2),
                layout_of("index", Role::out, DType::i32, 2, 2, 2),
                layout_of("absent", Role::out, DType::f32, 0, 0, 0)};
    layouts_.back().present = false;
    Result<ProblemTensors> tensors =
        ProblemTensors::allocate(device_, layouts_, Placement::guarded);
    ASSERT_TRUE(tensors.ok()) << tensors.status().message();
    tensors_.emplace(std::move(*tensors));
    tensors_->set_content(0, strided_image(layouts_[0], Bytes(12 * 4, 0x11)));
    tensors_->set_content(2, strided_image(layouts_[2], Bytes(4 * 4, 0x22)));
    ASSERT_TRUE(tensors_->prepare().ok());
  }

  unsigned char* memory(std::size_t tensor) {
    return static_cast<unsigned char*>(tensors_->pointers()[tensor]);
  }

  std::string damage() {
    const Result<std::vector<Bytes>> outputs = tensors_->read_outputs();
    EXPECT_TRUE(outputs.ok());
    return tensors_->damage(*outputs).value();
  }

  MemoryDevice device_;
  std::vector<TensorLayout> layouts_;
  std::optional<ProblemTensors> tensors_;
};

TEST_F(ProblemTensorsTest, IsFilledAndPoisoned) {
  const std::vector<Bytes> outputs = tensors_->read_outputs().value();
  EXPECT_EQ(outputs[1], Bytes(layouts_[1].bytes(), 0xff));
  EXPECT_EQ(outputs[2], Bytes(16, 0x22));
  EXPECT_EQ(outputs[3], Bytes(16, 0xa5));
  EXPECT_TRUE(outputs[0].empty());
  EXPECT_TRUE(outputs[4].empty());
  EXPECT_EQ(tensors_->pointers()[4], nullptr);
  for (std::int64_t i = 0; i < layouts_[1].span; ++i) {
    EXPECT_TRUE(std::isnan(element_as_double(outputs[1].data(), i, DType::f16)));
  }
  EXPECT_EQ(damage(), "");
}

TEST_F(ProblemTensorsTest, PaddingOfInputsIsPoison) {
  const float* const x = reinterpret_cast<const float*>(memory(0));
  EXPECT_FALSE(std::isnan(x[3]));
  EXPECT_TRUE(std::isnan(x[4]));
  EXPECT_TRUE(std::isnan(x[5]));
  EXPECT_FALSE(std::isnan(x[6]));
}

TEST_F(ProblemTensorsTest, WritingOutputsIsNoDamage) {
  for (const std::size_t row : {0U, 1U}) std::memset(memory(1) + row * 10, 0, 6);
  std::memset(memory(2), 0, 16);
  std::memset(memory(3), 0, 16);
  EXPECT_EQ(damage(), "");
}

TEST_F(ProblemTensorsTest, AChangedInputIsNamed) {
  memory(0)[(1 * 6 + 2) * 4 + 1] ^= 1;
  EXPECT_EQ(damage(), "x: an input was changed, first at x[1, 2]");
  ASSERT_TRUE(tensors_->prepare().ok());
  EXPECT_EQ(damage(), "");
  memory(0)[4 * 4] ^= 1;
  EXPECT_EQ(damage(), "x: an input was changed, first at element 4 of its memory");
}

TEST_F(ProblemTensorsTest, WrittenPaddingIsNamed) {
  memory(1)[3 * 2] = 0;
  EXPECT_EQ(damage(), "y: the padding between its strides was written, at element 3 of its memory");
}

TEST_F(ProblemTensorsTest, AWriteOutOfBoundsIsNamed) {
  memory(1)[layouts_[1].bytes()] = 0;
  EXPECT_EQ(damage(), "y: written past its end, at byte 16 of 16");
  ASSERT_TRUE(tensors_->prepare().ok());
  memory(2)[-4] = 0;
  EXPECT_EQ(damage(), "state: written before its start, at byte -4");
}

TEST_F(ProblemTensorsTest, PrepareRestoresInoutTensors) {
  std::memset(memory(2), 0, 16);
  ASSERT_TRUE(tensors_->prepare().ok());
  EXPECT_EQ(tensors_->read_outputs().value()[2], Bytes(16, 0x22));
}

TEST(ProblemTensors, AnEmptyTensorHasAPointerAndNothingElse) {
  MemoryDevice device;
  std::vector<TensorLayout> layouts{layout_of("y", Role::out, DType::f32, 0, 4, 4)};
  for (const Placement placement : {Placement::guarded, Placement::exact}) {
    Result<ProblemTensors> tensors = ProblemTensors::allocate(device, layouts, placement);
    ASSERT_TRUE(tensors.ok());
    ASSERT_TRUE(tensors->prepare().ok());
    EXPECT_NE(tensors->pointers()[0], nullptr);
    EXPECT_EQ(tensors->damage(tensors->read_outputs().value()).value(), "");
  }
}

TEST(ProblemTensors, WhatDoesNotFitIsNamed) {
  MemoryDevice device;
  const std::vector<TensorLayout> layouts{layout_of("x", Role::in, DType::f32, 1, 8, 8),
                                          layout_of("y", Role::out, DType::f32, 1024, 1024, 1024)};
  const Result<ProblemTensors> tensors =
      ProblemTensors::allocate(device, layouts, Placement::exact);
  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.status().message(), "tensor y: out of memory");
  EXPECT_EQ(device.allocations(), 0);
}

}  // namespace
}  // namespace mgtune
