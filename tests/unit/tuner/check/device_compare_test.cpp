// The check's kernels that look at tensors where they lie, against the host's answers.

#include "check/device_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "device/registry.h"
#include "system/file_system.h"
#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

TensorLayout matrix(DType dtype, std::int64_t rows, std::int64_t columns) {
  TensorLayout layout;
  layout.name = "y";
  layout.role = Role::out;
  layout.dtype = dtype;
  layout.shape = {rows, columns};
  layout.strides = {columns, 1};
  layout.count = layout.span = rows * columns;
  return layout;
}

class DeviceCompareTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
    Result<DeviceCompare> compare = DeviceCompare::make(
        *device_, builder_,
        {matrix(DType::f32, 1, 1), matrix(DType::bf16, 1, 1), matrix(DType::i32, 1, 1)});
    ASSERT_TRUE(compare.ok()) << compare.status().message();
    compare_.emplace(*std::move(compare));
  }
  void TearDown() override { compare_.reset(); }

  DifferenceSums compare(const TensorLayout& layout, const std::vector<double>& output,
                         const std::vector<double>& reference, std::int64_t sample_rows = 0) {
    const auto on_device = DeviceTensor::upload(*device_, layout.dtype, output);
    const auto expected = DeviceTensor::upload(*device_, DType::f64, reference);
    EXPECT_TRUE(on_device.ok() && expected.ok());
    Result<DifferenceSums> sums =
        compare_->compare(layout, on_device->data(), expected->data(), sample_rows);
    EXPECT_TRUE(sums.ok()) << sums.status().message();
    return sums.ok() ? *sums : DifferenceSums();
  }

  std::uint64_t fingerprint(const std::vector<unsigned char>& bytes) {
    Result<Buffer> buffer = Buffer::allocate(*device_, bytes.size());
    EXPECT_TRUE(buffer.ok());
    EXPECT_TRUE(device_->copy_to_device(buffer->data(), bytes.data(), bytes.size()).ok());
    const Result<std::uint64_t> value = compare_->fingerprint(buffer->data(), bytes.size());
    EXPECT_TRUE(value.ok()) << value.status().message();
    return *value;
  }

  const TestFolder cache_;
  Builder builder_{BuildCache(FileSystem::real(), cache_.path())};
  std::unique_ptr<Device> device_;
  std::optional<DeviceCompare> compare_;
};

TEST_F(DeviceCompareTest, SumsAreTheHosts) {
  const DifferenceSums sums =
      compare(matrix(DType::f32, 2, 3), {1, 2, 3, 4, 5, 6.5}, {1, 2, 3.25, 4, 5, 6});
  EXPECT_EQ(sums.compared, 6);
  EXPECT_EQ(sums.finiteness, 0);
  EXPECT_DOUBLE_EQ(sums.squared_difference, 0.0625 + 0.25);
  EXPECT_DOUBLE_EQ(sums.squared_reference, 1 + 4 + 3.25 * 3.25 + 16 + 25 + 36);
  EXPECT_DOUBLE_EQ(sums.worst, 0.5);
}

TEST_F(DeviceCompareTest, EveryElementOfALargeTensorIsSeen) {
  const std::int64_t rows = 700, columns = 401;  // more than there are threads
  const std::vector<double> reference(static_cast<std::size_t>(rows * columns), 2);
  std::vector<double> output = reference;
  output[5] = output[131'072] = output.back() = 3;
  const DifferenceSums sums = compare(matrix(DType::bf16, rows, columns), output, reference);
  EXPECT_EQ(sums.compared, rows * columns);
  EXPECT_DOUBLE_EQ(sums.squared_difference, 3);
  EXPECT_DOUBLE_EQ(sums.squared_reference, 4.0 * static_cast<double>(rows * columns));
}

TEST_F(DeviceCompareTest, WhatIsNotFiniteOnOneSideIsCounted) {
  const TensorLayout layout = matrix(DType::f32, 1, 6);
  const DifferenceSums sums = compare(layout, {kNan, kNan, kInfinite, kInfinite, -kInfinite, 1},
                                      {kNan, 0, kInfinite, 0, kInfinite, 1});
  EXPECT_EQ(sums.finiteness, 3);
  EXPECT_EQ(sums.compared, 1);
  EXPECT_FALSE(sums.surely_within(1e9));
}

TEST_F(DeviceCompareTest, OnlyTheSampledRowsCount) {
  const TensorLayout layout = matrix(DType::i32, 5, 2);
  const std::vector<double> reference(10, 1);
  const std::vector<double> output = {1, 1, 9, 9, 1, 2, 9, 9, 1, 1};
  const DifferenceSums sums = compare(layout, output, reference, 3);  // rows 0, 2 and 4
  EXPECT_EQ(sums.compared, 6);
  EXPECT_DOUBLE_EQ(sums.squared_difference, 1);
  EXPECT_EQ(compare(layout, output, reference, 1).compared, 2);
  EXPECT_EQ(compare(layout, output, reference, 50).compared, 10);
}

TEST_F(DeviceCompareTest, EveryBitIsInTheFingerprint) {
  std::vector<unsigned char> bytes(37, 0);
  std::set<std::uint64_t> seen{fingerprint(bytes)};
  EXPECT_EQ(fingerprint(bytes), *seen.begin());
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    bytes[i / 8] ^= static_cast<unsigned char>(1U << (i % 8));
    EXPECT_TRUE(seen.insert(fingerprint(bytes)).second) << "bit " << i;
    bytes[i / 8] ^= static_cast<unsigned char>(1U << (i % 8));
  }
}

TEST_F(DeviceCompareTest, PlacesAreInTheFingerprint) {
  std::vector<unsigned char> bytes(64, 0);
  bytes[0] = 1;
  const std::uint64_t first = fingerprint(bytes);
  bytes[0] = 0;
  bytes[8] = 1;
  EXPECT_NE(fingerprint(bytes), first);
}

TEST_F(DeviceCompareTest, ManyQuestionsAreAnsweredInTheirOrder) {
  const TensorLayout layout = matrix(DType::f32, 1, 2);
  const auto output = DeviceTensor::upload(*device_, DType::f32, {1, 2});
  const auto near = DeviceTensor::upload(*device_, DType::f64, {1, 2.5});
  const auto far = DeviceTensor::upload(*device_, DType::f64, {1, 4});
  const std::uint64_t whole = fingerprint(std::vector<unsigned char>(16, 1));
  Result<Buffer> memory = Buffer::allocate(*device_, 16);
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(device_->fill_bytes(memory->data(), 1, 16, nullptr).ok());

  EXPECT_TRUE(compare_->ask_fingerprint(memory->data(), 16).ok());
  EXPECT_TRUE(compare_->ask_differences(layout, output->data(), near->data(), 0).ok());
  EXPECT_TRUE(compare_->ask_fingerprint(memory->data(), 8).ok());
  EXPECT_TRUE(compare_->ask_differences(layout, output->data(), far->data(), 0).ok());
  const DeviceCompare::Answers answers = compare_->read().value();
  ASSERT_EQ(answers.numbers.size(), 2U);
  EXPECT_EQ(answers.numbers[0], whole);
  EXPECT_NE(answers.numbers[1], whole);
  ASSERT_EQ(answers.differences.size(), 2U);
  EXPECT_DOUBLE_EQ(answers.differences[0].worst, 0.5);
  EXPECT_DOUBLE_EQ(answers.differences[1].worst, 2);
  EXPECT_TRUE(compare_->read()->numbers.empty());
}

TEST_F(DeviceCompareTest, OnlySoManyQuestionsHaveRoom) {
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(compare_->ask_fingerprint(nullptr, 0).ok());
  EXPECT_EQ(compare_->ask_fingerprint(nullptr, 0).code(), StatusCode::internal);
}

TEST_F(DeviceCompareTest, EveryByteOfAGuardBandIsSeen) {
  for (const std::size_t bytes : {0U, 7U, 64U}) {
    GuardedBuffer buffer = GuardedBuffer::allocate(*device_, bytes, 16, Placement::guarded).value();
    auto* const data = static_cast<unsigned char*>(buffer.data());
    EXPECT_TRUE(device_->fill_bytes(data, 0, bytes, nullptr).ok());
    const DeviceCompare::Bands bands = compare_->upload(buffer.bands()).value();
    EXPECT_EQ(bands.count, 2);
    const auto changes = [&] {
      EXPECT_TRUE(compare_->ask_changes(bands).ok());
      return compare_->read()->numbers.front();
    };
    EXPECT_EQ(changes(), 0U) << bytes;
    for (unsigned char* const place : {data - 256, data - 1, data + bytes, data + bytes + 255}) {
      *place ^= 1;
      EXPECT_EQ(changes(), 1U) << bytes << " " << place - data;
      *place ^= 1;
    }
  }
}

}  // namespace
}  // namespace mgtune
