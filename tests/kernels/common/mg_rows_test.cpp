// <mg/async_copy.cuh>, <mg/convert.cuh>, <mg/group_sum.cuh> and <mg/partial_sums.cuh>: what they
// compute on the cpu device, in any order of threads, and that NVRTC takes their PTX.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

constexpr char kRowsSource[] = R"(
#include <mg/async_copy.cuh>
#include <mg/convert.cuh>
#include <mg/group_sum.cuh>
#include <mg/partial_sums.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// Rounds through shared memory in three stages; each thread copies what it reads. kWaits: whether
// it waits for its copy before that.
template <int kFloats, bool kWaits>
__global__ void staged_copy(const float* in, float* out, int rounds) {
  float* const mine = mg::dynamic_shared<float>() + threadIdx.x * 3 * kFloats;
  mg::AsyncCopies<3> copies;
  const auto at = [&](int round) { return (round * blockDim.x + threadIdx.x) * kFloats; };
  const auto start = [&](int round) {
    if (round < rounds) copies.template copy<kFloats * 4>(mine + round % 3 * kFloats, in + at(round));
    copies.end_group();
  };
  start(0);
  start(1);
  for (int round = 0; round < rounds; ++round) {
    start(round + 2);
    if (kWaits) copies.template wait<2>();
    for (int i = 0; i < kFloats; ++i) out[at(round) + i] = mine[round % 3 * kFloats + i];
  }
  copies.template wait<0>();
}

// Elements to float and back, and the floats themselves.
template <class T, int N>
__global__ void convert(const float* in, T* rounded, float* back) {
  float values[N];
  for (int i = 0; i < N; ++i) values[i] = in[threadIdx.x * N + i];
  const mg::Vec<T, N> vec = mg::from_floats<T>(values);
  mg::to_floats(vec, values);
  for (int i = 0; i < N; ++i) {
    rounded[threadIdx.x * N + i] = vec.data[i];
    back[threadIdx.x * N + i] = values[i];
  }
}

// Group g does g + 1 rounds: none waits for another. Every thread writes what it got last.
template <int kThreads, int kGroups>
__global__ void group_sums(const float* in, float* out) {
  constexpr int kScratch = mg::group_sum_floats<kThreads, kGroups, 2>();
  MG_SHARED(float, scratch, [2 * kScratch]);
  const int group = threadIdx.x / kThreads;
  float sums[2];
  for (int round = 0; round <= group; ++round) {
    sums[0] = in[threadIdx.x] + round;
    sums[1] = 2 * in[threadIdx.x];
    mg::group_sums<kThreads, kGroups>(sums, scratch + round % 2 * kScratch);
  }
  out[2 * threadIdx.x] = sums[0];
  out[2 * threadIdx.x + 1] = sums[1];
}

template <int kThreads>
__global__ void column_sums(const float* partials, float* out, int parts, mg::i64 row_length) {
  MG_SHARED(float, scratch, [mg::kPartialSumScratch<kThreads>]);
  const mg::i64 first = blockIdx.x * mg::kPartialSumColumns;
  const float total = mg::sum_partials<kThreads>(partials, parts, row_length, first, scratch);
  if (threadIdx.x < 32 && first + threadIdx.x < row_length) out[first + threadIdx.x] = total;
}
)";

const std::vector<std::string> kStagedCopies = {"staged_copy<1, true>", "staged_copy<2, true>",
                                                "staged_copy<4, true>"};
const std::vector<std::string> kRowKernels = {
    "convert<float, 1>",         "convert<float, 4>",  "convert<__half, 1>",
    "convert<__half, 8>",        "convert<__half, 2>", "convert<__nv_bfloat16, 1>",
    "convert<__nv_bfloat16, 8>", "group_sums<8, 4>",   "group_sums<32, 3>",
    "group_sums<64, 1>",         "group_sums<64, 3>",  "group_sums<128, 2>",
    "column_sums<32>",           "column_sums<256>"};

std::vector<std::string> all_row_kernels() {
  std::vector<std::string> names = kStagedCopies;
  names.insert(names.end(), kRowKernels.begin(), kRowKernels.end());
  return names;
}

class MgRows : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> names = all_row_kernels();
    names.emplace_back("staged_copy<4, false>");
    build_kernels(kRowsSource, names);
  }
};

TEST_F(MgRows, AsyncCopiesBringEveryRound) {
  for (const int floats : {1, 2, 4}) {
    for (const int rounds : {0, 1, 2, 7}) {
      const auto size = static_cast<std::size_t>(32 * 7 * floats);
      const HostArray<float> in = numbers(size, 1), out = numbers(size, 5000);
      const Status status =
          kernels->launch("staged_copy<" + std::to_string(floats) + ", true>",
                          {{1, 1, 1}, {32, 1, 1}, static_cast<std::uint32_t>(32 * 3 * floats * 4)},
                          in.data(), out.data(), rounds);
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < size; ++i) {
        const bool copied = i < static_cast<std::size_t>(32 * rounds * floats);
        ASSERT_EQ(out[i], copied ? in[i] : 5000 + static_cast<float>(i)) << rounds;
      }
    }
  }
}

TEST_F(MgRows, AnAsyncCopyThatNobodyWaitedForIsNotThere) {
  const HostArray<float> in = numbers(128, 1), out = numbers(128, 5000);
  const Status status = kernels->launch(
      "staged_copy<4, false>", {{1, 1, 1}, {32, 1, 1}, 32 * 3 * 4 * 4}, in.data(), out.data(), 1);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(out.values(), testing::Each(testing::IsNan()));
}

TEST_F(MgRows, ConversionsRoundAsOneByOne) {
  for (const std::string& name : kRowKernels) {
    if (!name.starts_with("convert")) continue;
    const DType dtype = name.find("bfloat") != std::string::npos ? DType::bf16
                        : name.find("half") != std::string::npos ? DType::f16
                                                                 : DType::f32;
    HostArray<float> in(kernels->device(), 256), back(kernels->device(), 256);
    HostArray<unsigned char> rounded(kernels->device(), 1024);
    for (std::size_t i = 0; i < 256; ++i) {
      in[i] = std::ldexp(std::sin(static_cast<float>(i)), static_cast<int>(i % 40) - 20);
    }
    in[3] = -0.0F;
    in[4] = INFINITY;
    in[5] = 1e30F;  // beyond half
    const std::uint32_t per_thread = static_cast<std::uint32_t>(name[name.size() - 2] - '0');
    const Status status = kernels->launch(name, {{1, 1, 1}, {256 / per_thread, 1, 1}, 0}, in.data(),
                                          static_cast<void*>(rounded.data()), back.data());
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < 256; ++i) {
      const double element = element_as_double(rounded.data(), static_cast<std::int64_t>(i), dtype);
      EXPECT_EQ(static_cast<double>(back[i]), element) << name << " at " << i;
      double wanted = in[i];
      if (dtype == DType::f16 || dtype == DType::bf16) {
        const auto bits = dtype == DType::f16 ? f16_from_float(in[i]) : bf16_from_float(in[i]);
        wanted = element_as_double(&bits, 0, dtype);
      }
      EXPECT_EQ(element, wanted) << name << " at " << i;
    }
  }
}

TEST_F(MgRows, GroupsSumByThemselves) {
  struct Shape {
    std::uint32_t threads, groups;
  };
  for (const Shape shape : {Shape{8, 4}, {32, 3}, {64, 1}, {64, 3}, {128, 2}}) {
    const std::uint32_t block = shape.threads * shape.groups;
    const HostArray<float> in = numbers(block, 3), out = numbers(2 * std::size_t{block}, 5000);
    for (const ThreadOrder order : thread_orders()) {
      ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
      const Status status = kernels->launch(
          "group_sums<" + std::to_string(shape.threads) + ", " + std::to_string(shape.groups) + ">",
          {{1, 1, 1}, {block, 1, 1}, 0}, in.data(), out.data());
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::uint32_t i = 0; i < block; ++i) {
        const std::uint32_t group = i / shape.threads;
        float sum = 0;
        for (std::uint32_t j = 0; j < shape.threads; ++j) sum += in[group * shape.threads + j];
        ASSERT_EQ(out[2 * i], sum + static_cast<float>(shape.threads * group)) << i;
        ASSERT_EQ(out[2 * i + 1], 2 * sum) << i;
      }
    }
  }
}

TEST_F(MgRows, PartialSumsAddUpByColumns) {
  for (const std::uint32_t threads : {32U, 256U}) {
    for (const int parts : {0, 1, 3, 70}) {
      for (const std::int64_t row_length : {4, 36, 64}) {
        const auto size = static_cast<std::size_t>(parts) * static_cast<std::size_t>(row_length);
        const HostArray<float> in = numbers(size + 1, 1), out = numbers(64, 5000);
        const Status status = kernels->launch("column_sums<" + std::to_string(threads) + ">",
                                              {{2, 1, 1}, {threads, 1, 1}, 0}, in.data(),
                                              out.data(), parts, row_length);
        ASSERT_TRUE(status.ok()) << status.message();
        for (std::size_t column = 0; column < 64; ++column) {
          const bool is_there = column < static_cast<std::size_t>(row_length);
          float sum = 0;
          for (int part = 0; is_there && part < parts; ++part) {
            sum += in[static_cast<std::size_t>(part * row_length) + column];
          }
          ASSERT_EQ(out[column], is_there ? sum : 5000 + static_cast<float>(column))
              << parts << " parts of " << row_length;
        }
      }
    }
  }
}

TEST(MgRowsForGpus, CompileWhereTheHardwareHasThem) {
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    const Result<Build> build = build_kernel_text(kRowsSource, all_row_kernels(), arch);
    EXPECT_TRUE(build.ok()) << arch << ": " << build.status().message();
  }
  const Result<Build> build = build_kernel_text(kRowsSource, kRowKernels, "sm_75");
  EXPECT_TRUE(build.ok()) << build.status().message();
}

}  // namespace
}  // namespace mgtune
