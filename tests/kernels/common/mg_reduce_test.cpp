// <mg/reduce.cuh> and <mg/vec.cuh> on the cpu device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/dtype.h"
#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

constexpr char kReduceSource[] = R"(
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <int kThreads, int kGroups>
__global__ void sum(const float* in, float* out) {
  MG_SHARED(float, scratch, [mg::sum_scratch_floats<kThreads, kGroups>()]);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = mg::sum<kThreads>(in[i], scratch);
}

// Only the even groups come to the sum.
template <int kThreads>
__global__ void sum_of_some(const float* in, float* out) {
  if (threadIdx.x / kThreads % 2 == 0) {
    out[threadIdx.x] = mg::sum<kThreads>(in[threadIdx.x], nullptr);
  }
}

template <class T, int N>
__global__ void copy(const T* in, T* out, float* as_float) {
  const mg::i64 first = mg::i64{threadIdx.x} * N;
  const mg::Vec<T, N> value = mg::load<N>(in + first);
  mg::store<N>(out + first, value);
  mg::Vec<T, N> rounded;
  for (int i = 0; i < N; ++i) {
    as_float[first + i] = mg::to_float(value.data[i]);
    rounded.data[i] = mg::from_float<T>(mg::rsqrt(1.0f / 3.0f));
  }
  mg::store_streaming<N>(out + 32 * N + first, rounded);
}
)";

constexpr int kGroupSizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

std::string sum_kernel(int threads, int groups) {
  return "sum<" + std::to_string(threads) + ", " + std::to_string(groups) + ">";
}

class MgReduce : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> names;
    for (const int threads : kGroupSizes) {
      for (int groups = std::max(1, 32 / threads); groups * threads <= 1024; groups *= 4) {
        names.push_back(sum_kernel(threads, groups));
      }
    }
    for (const char* threads : {"1", "4", "8", "16", "32"}) {
      names.push_back(std::string("sum_of_some<") + threads + ">");
    }
    for (const char* type : {"float, 1", "float, 2", "float, 4", "__half, 1", "__half, 2",
                             "__half, 4", "__half, 8", "__nv_bfloat16, 1", "__nv_bfloat16, 8"}) {
      names.push_back(std::string("copy<") + type + ">");
    }
    build_kernels(kReduceSource, names);
  }
};

HostArray<float> random_floats(Device& device, std::size_t count) {
  HostArray<float> array(device, count);
  std::mt19937 random(42);
  for (std::size_t i = 0; i < count; ++i) {
    array[i] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 64;
  }
  return array;
}

TEST_F(MgReduce, SumsItsGroupInEveryThreadAndOrder) {
  for (const int threads : kGroupSizes) {
    for (int groups = std::max(1, 32 / threads); groups * threads <= 1024; groups *= 4) {
      const auto block = static_cast<std::size_t>(threads * groups);
      const HostArray<float> in = random_floats(kernels->device(), 2 * block);
      std::vector<float> first;
      for (const ThreadOrder order : thread_orders()) {
        ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
        HostArray<float> out(kernels->device(), 2 * block);
        const LaunchShape shape{{2, 1, 1}, {static_cast<std::uint32_t>(block), 1, 1}, 0};
        const Status status =
            kernels->launch(sum_kernel(threads, groups), shape, in.data(), out.data());
        ASSERT_TRUE(status.ok()) << status.message();
        if (first.empty()) first = out.values();
        ASSERT_EQ(out.values(), first) << threads << " x " << groups;
      }
      for (std::size_t i = 0; i < 2 * block; ++i) {
        const std::size_t group = i / static_cast<std::size_t>(threads);
        double expected = 0;
        for (int k = 0; k < threads; ++k) {
          expected += in[group * static_cast<std::size_t>(threads) + static_cast<std::size_t>(k)];
        }
        ASSERT_NEAR(first[i], expected, 1e-3) << threads << " x " << groups << " at " << i;
      }
    }
  }
}

TEST_F(MgReduce, GroupsOfAWarpNeedNotAllCome) {
  for (const int threads : {1, 4, 8, 16, 32}) {
    const HostArray<float> in = random_floats(kernels->device(), 128);
    HostArray<float> out(kernels->device(), 128);
    const Status status = kernels->launch("sum_of_some<" + std::to_string(threads) + ">",
                                          {{1, 1, 1}, {128, 1, 1}}, in.data(), out.data());
    ASSERT_TRUE(status.ok()) << status.message();
    for (int i = 0; i < 128; ++i) {
      const float value = out[static_cast<std::size_t>(i)];
      EXPECT_EQ(std::isnan(value), i / threads % 2 == 1) << threads << " at " << i;
    }
  }
}

struct Copy {
  const char* type;
  DType dtype;
  std::size_t elements;
};

TEST_F(MgReduce, VectorsLoadStoreAndConvert) {
  const Copy copies[] = {{"float, 1", DType::f32, 1},         {"float, 2", DType::f32, 2},
                         {"float, 4", DType::f32, 4},         {"__half, 1", DType::f16, 1},
                         {"__half, 2", DType::f16, 2},        {"__half, 4", DType::f16, 4},
                         {"__half, 8", DType::f16, 8},        {"__nv_bfloat16, 1", DType::bf16, 1},
                         {"__nv_bfloat16, 8", DType::bf16, 8}};
  for (const Copy& copy : copies) {
    const std::size_t count = 32 * copy.elements;
    const auto size = static_cast<std::size_t>(size_in_bytes(copy.dtype));
    HostArray<unsigned char> in(kernels->device(), count * size);
    HostArray<unsigned char> out(kernels->device(), 2 * count * size);
    HostArray<float> as_float(kernels->device(), count);
    for (std::size_t i = 0; i < count * size; ++i) {
      in[i] = static_cast<unsigned char>(i % size == size - 1 ? 0x3f : i * 7);  // finite
    }
    const Status status = kernels->launch(std::string("copy<") + copy.type + ">", {}, in.data(),
                                          out.data(), as_float.data());
    ASSERT_TRUE(status.ok()) << status.message();
    const float root = std::sqrt(3.0F);
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const double given = element_as_double(in.data(), at, copy.dtype);
      EXPECT_EQ(element_as_double(out.data(), at, copy.dtype), given) << copy.type;
      EXPECT_EQ(as_float[i], static_cast<float>(given)) << copy.type;
      EXPECT_NEAR(element_as_double(out.data(), static_cast<std::int64_t>(count) + at, copy.dtype),
                  root, 0.01)
          << copy.type;
    }
  }
}

}  // namespace
}  // namespace mgtune
