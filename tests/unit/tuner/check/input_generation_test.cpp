// The inputs of a check are generated where they lie. They have the elements that the fill kernels
// give, whatever the layout, and the elements that the host sees are those on the device.

#include <cstring>

#include "check/reference.h"
#include "tensors/element_mover.h"
#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/operators/in_place_family.h"

namespace mgtune {
namespace {

class InputGenerationTest : public CheckerTest {
 protected:
  // The memory of a tensor's elements and padding after prepare().
  static Bytes memory_of(const ProblemTensors& tensors, const TensorLayout& layout,
                         std::size_t tensor) {
    Bytes bytes(layout.bytes());
    EXPECT_TRUE(device_->copy_to_host(bytes.data(), tensors.pointers()[tensor], bytes.size()).ok());
    return bytes;
  }

  // What the fill kernel of the first tensor gives, by a launch of its own.
  Bytes filled_x(std::int64_t count, std::uint64_t seed) {
    const SourceTree common = embedded_source_tree("kernels/common");
    const Build build = builder_.build({&common, "fill.cu", {"fill_normal<float>"}, "cpu"}).value();
    const auto module = device_->load(build).value();
    const Buffer buffer =
        Buffer::allocate(*device_, static_cast<std::size_t>(count) * sizeof(float)).value();
    void* out = buffer.data();
    std::uint64_t own_seed = (seed << 32U) + 0x9e3779b97f4a7c15U;
    std::array<void*, 3> args{&out, &count, &own_seed};
    EXPECT_TRUE(device_
                    ->launch({.kernel = module->kernel("fill_normal<float>").value(),
                              .grid = {3, 1, 1},
                              .block = {32, 1, 1},
                              .args = args.data()})
                    .ok());
    Bytes bytes(buffer.bytes());
    EXPECT_TRUE(device_->copy_to_host(bytes.data(), out, bytes.size()).ok());
    return bytes;
  }

  // The problem's tensors, filled and prepared.
  ProblemTensors prepared(const Values& values, std::uint64_t seed) {
    problem_ = bind_problem(*op_, values).value();
    layouts_ = tensor_layouts(problem_).value();
    const Reference reference = Reference::make(*device_, builder_, problem_, layouts_).value();
    ProblemTensors tensors =
        ProblemTensors::allocate(*device_, layouts_, Placement::guarded).value();
    EXPECT_TRUE(reference.fill(tensors, seed).ok());
    EXPECT_TRUE(tensors.prepare().ok());
    return tensors;
  }

  std::vector<TensorLayout> layouts_;
};

TEST_F(InputGenerationTest, ContiguousAndStridedTensorsHaveTheElementsOfTheFillKernel) {
  for (const Values& values : {kSmall, kStrided}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      const ProblemTensors tensors = prepared(values, seed);
      const Bytes expected = strided_image(layouts_[0], filled_x(400, seed));
      EXPECT_EQ(memory_of(tensors, layouts_[0], 0), expected);
      EXPECT_EQ(**tensors.content(0), expected) << "what the host sees";
      EXPECT_EQ(tensors.damage(tensors.read_outputs().value()).value(), "");
    }
  }
}

TEST_F(InputGenerationTest, ThePreparedTensorsAreTheSameWithImagesOnTheHost) {
  ProblemTensors tensors = prepared(kStrided, 1);
  const Bytes before = memory_of(tensors, layouts_[0], 0);
  ASSERT_TRUE(tensors.keep_images().ok());
  std::memset(tensors.pointers()[0], 0, layouts_[0].bytes());
  ASSERT_TRUE(tensors.prepare().ok());
  EXPECT_EQ(memory_of(tensors, layouts_[0], 0), before);
}

TEST_F(InputGenerationTest, WhatALaunchChangedIsGeneratedAnew) {
  ProblemTensors tensors = prepared(kStrided, 1);
  const Bytes before = memory_of(tensors, layouts_[0], 0);
  static_cast<float*>(tensors.pointers()[0])[3 * 104 + 2] += 1;
  EXPECT_EQ(tensors.damage(tensors.read_outputs().value()).value(),
            "x: an input was changed, first at x[3, 2]");
  ASSERT_TRUE(tensors.prepare().ok());
  EXPECT_EQ(memory_of(tensors, layouts_[0], 0), before);
}

TEST_F(InputGenerationTest, TimedSetsHaveTheSameElements) {
  ProblemTensors first = prepared(kStrided, 1);
  TimedSets sets(*device_, layouts_);
  ASSERT_TRUE(sets.provide(2, first).ok());
  for (const std::int64_t set : {0, 1}) {
    EXPECT_EQ(memory_of(sets[set], layouts_[0], 0), memory_of(first, layouts_[0], 0));
  }
}

TEST_F(InputGenerationTest, InoutTensorsAndFillsOfTheFamilyAreGenerated) {
  use("add", {{"add.json", kAddJson}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  ProblemTensors tensors = prepared({{"count", "200"}}, 2);
  const Bytes index = memory_of(tensors, layouts_[1], 1),
              state = memory_of(tensors, layouts_[2], 2);
  const std::uint64_t own_seed = (std::uint64_t{2} << 32U) + 0x9e3779b97f4a7c15U * 2;
  for (const std::int64_t i : {0, 1, 199}) {
    EXPECT_EQ(element_as_double(index.data(), i, DType::i32),
              static_cast<double>((static_cast<std::uint64_t>(i) * 7 + own_seed) % 200));
  }
  std::memset(tensors.pointers()[2], 0, layouts_[2].bytes());
  ASSERT_TRUE(tensors.prepare_outputs().ok());
  EXPECT_EQ(memory_of(tensors, layouts_[2], 2), state);
}

TEST_F(InputGenerationTest, ElementsAreConvertedExactlyFromAnyLayout) {
  for (const DType dtype : kDTypes) {
    TensorLayout layout;
    layout.role = Role::inout;
    layout.dtype = dtype;
    layout.shape = {2, 3, 4};
    layout.strides = {40, 5, 1};
    layout.count = 24;
    layout.span = 54;
    for (const DType to : {DType::f64, DType::f32}) {
      const ElementMover mover = ElementMover::make(*device_, builder_, {layout}, to).value();
      Bytes elements(24 * static_cast<std::size_t>(size_in_bytes(dtype)));
      for (std::int64_t i = 0; i < 24; ++i) put_element(elements.data(), i, dtype, double(i) + 1);
      const Buffer packed = Buffer::allocate(*device_, elements.size()).value();
      const Buffer image = Buffer::allocate(*device_, layout.bytes()).value();
      const Buffer wide = Buffer::allocate(*device_, 24 * sizeof(double)).value();
      ASSERT_TRUE(device_->copy_to_device(packed.data(), elements.data(), elements.size()).ok());
      const Status placed = mover.place(layout, image.data(), packed.data());
      ASSERT_TRUE(placed.ok()) << placed.message();
      Bytes placed_image(layout.bytes());
      ASSERT_TRUE(
          device_->copy_to_host(placed_image.data(), image.data(), placed_image.size()).ok());
      EXPECT_EQ(placed_image, strided_image(layout, elements)) << to_string(dtype);
      const Status converted = mover.convert(layout, wide.data(), to, image.data());
      ASSERT_TRUE(converted.ok()) << converted.message();
      std::vector<double> values(24);
      ASSERT_TRUE(device_->copy_to_host(values.data(), wide.data(), 24 * sizeof(double)).ok());
      for (std::int64_t i = 0; i < 24; ++i) {
        EXPECT_EQ(element_as_double(values.data(), i, to), double(i) + 1) << to_string(dtype);
      }
    }
  }
}

TEST(StridingBlocks, FillAGpuAndAreFewOnTheCpuDevice) {
  DeviceInfo device;
  device.limits.sm_count = 132;
  EXPECT_EQ(striding_blocks(device), 64U);
  device.kind = DeviceKind::cuda;
  EXPECT_EQ(striding_blocks(device), 132U * 16U);
}

}  // namespace
}  // namespace mgtune
