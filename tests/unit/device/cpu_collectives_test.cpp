// Collectives of the cpu device against a model of what PTX says they do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/dtype.h"
#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

constexpr char kSource[] = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mg/shared.cuh>

__global__ void shuffles(int* out, int operand, int width) {
  const int lane = threadIdx.x, given = 100 + lane;
  out[lane] = __shfl_sync(0xffffffffu, given, operand, width);
  out[32 + lane] = __shfl_up_sync(0xffffffffu, given, operand, width);
  out[64 + lane] = __shfl_down_sync(0xffffffffu, given, operand, width);
  out[96 + lane] = __shfl_xor_sync(0xffffffffu, given, operand, width);
}

template <class T>
__global__ void shuffle_type(T* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<T>(static_cast<float>(threadIdx.x)), 1);
}

__global__ void masks(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned mask = lane < 8 ? 0xffu : 0xffffff00u;
  // The two parts meet a different number of times.
  unsigned value = lane;
  for (unsigned i = 0; i < (lane < 8 ? 3u : 5u); ++i) value = __shfl_sync(mask, value, lane ^ 1u) + 1;
  out[threadIdx.x] = value;
  if (lane < 4) out[64 + lane] = __shfl_sync(0xfu, lane, 9);  // outside the mask
}

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool last = threadIdx.x == 39;
  unsigned mask = __ballot_sync(0xffffffffu, lane % 3 == 0);
  if (lane == 5) out[warp * 4] = mask;
  if (__any_sync(0xffffffffu, last)) out[warp * 4 + 1] = 1;
  if (__all_sync(0xffffffffu, threadIdx.x < 39)) out[warp * 4 + 2] = 1;
  __syncwarp();
  if (lane == 0) out[warp * 4 + 3] = __popc(mask);
}

__global__ void reductions(int* out) {
  const int lane = threadIdx.x;
  const unsigned low = 0x0000ffffu, high = 0xffff0000u;
  const unsigned mask = lane < 16 ? low : high;
  int results[] = {__reduce_add_sync(mask, lane - 16), __reduce_min_sync(mask, lane - 16),
                   __reduce_max_sync(mask, lane - 16),
                   static_cast<int>(__reduce_min_sync(mask, static_cast<unsigned>(lane - 16))),
                   static_cast<int>(__reduce_max_sync(mask, static_cast<unsigned>(lane - 16))),
                   static_cast<int>(__reduce_and_sync(mask, 0xf0u | static_cast<unsigned>(lane))),
                   static_cast<int>(__reduce_or_sync(mask, 1u << lane)),
                   static_cast<int>(__reduce_xor_sync(mask, static_cast<unsigned>(lane)))};
  if (lane % 16 == 3) for (int i = 0; i < 8; ++i) out[lane / 16 * 8 + i] = results[i];
}

__global__ void barriers(int* out) {
  const int i = threadIdx.x;
  int result = __syncthreads_count(i % 3 == 0);
  if (i == 7) out[0] = result;
  result = __syncthreads_or(i == 12);
  if (i == 7) out[1] = result;
  result = __syncthreads_or(0);
  if (i == 7) out[2] = result;
  result = __syncthreads_and(i != 12);
  if (i == 7) out[3] = result;
  result = __syncthreads_and(1);
  if (i == 7) out[4] = result;
}

__global__ void early_return(int* out) {
  if (threadIdx.x >= 70) return;
  const int living = __syncthreads_count(1);
  int sum = __reduce_add_sync(0xffffffffu, 1);  // lanes that have returned are not waited for
  if (threadIdx.x == 0) out[0] = living;
  if (threadIdx.x % 32 == 0) out[1 + threadIdx.x / 32] = sum;
}

__global__ void named(int* out) {
  MG_SHARED(int, values, [128]);
  const unsigned half = threadIdx.x / 64;
  for (int round = 0; round < (half == 0 ? 2 : 5); ++round) {
    values[threadIdx.x] = round * 1000 + threadIdx.x;
    mgcpu::named_barrier(1 + half, 64);
    out[threadIdx.x] = values[threadIdx.x ^ 33u];
    mgcpu::named_barrier(1 + half, 64);
  }
}

__global__ void handshake(unsigned* flag, unsigned* out) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0u) == 0) __nanosleep(100);
    out[0] = 1;
  } else if (threadIdx.x == 31) {
    atomicExch(flag, 1u);
  }
}
)";

class CpuCollectives : public KernelTextTest<testing::TestWithParam<ThreadOrder>> {
 protected:
  static void SetUpTestSuite() {
    build_kernels(
        kSource, {"shuffles", "shuffle_type<float>", "shuffle_type<double>", "shuffle_type<__half>",
                  "shuffle_type<__nv_bfloat16>", "shuffle_type<long long>", "masks", "votes",
                  "reductions", "barriers", "early_return", "named", "handshake"});
  }
  void SetUp() override { ASSERT_TRUE(kernels->device().set_thread_order(GetParam()).ok()); }

  template <class... Args>
  static void launch(const char* kernel, std::uint32_t threads, Args... args) {
    const Status status = kernels->launch(kernel, {{1, 1, 1}, {threads, 1, 1}}, args...);
    ASSERT_TRUE(status.ok()) << status.message();
  }
};

// The formulas of the PTX manual's shfl.sync, kind by kind; lanes outside the segment: the own one.
int model_source(int kind, int lane, int operand, int width) {
  const int first = lane / width * width, last = first + width - 1;
  int source = lane;
  if (kind == 0) source = first + operand % width;
  if (kind == 1) source = lane - operand < first ? lane : lane - operand;
  if (kind == 2) source = lane + operand > last ? lane : lane + operand;
  if (kind == 3) source = (lane ^ operand) > last ? lane : lane ^ operand;
  return source;
}

TEST_P(CpuCollectives, ShufflesReadTheLaneThatPtxSays) {
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (int operand = 0; operand < 32; ++operand) {
      HostArray<int> out(kernels->device(), 128);
      launch("shuffles", 32, out.data(), operand, width);
      for (int i = 0; i < 128; ++i) {
        ASSERT_EQ(out[static_cast<std::size_t>(i)],
                  100 + model_source(i / 32, i % 32, operand, width))
            << "kind " << i / 32 << " lane " << i % 32 << " operand " << operand << " width "
            << width;
      }
    }
  }
}

template <class T>
void expect_neighbours(const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<T>(i ^ 1));
}

TEST_P(CpuCollectives, ShufflesMoveTwoToEightBytes) {
  HostArray<float> floats(kernels->device(), 32);
  launch("shuffle_type<float>", 32, floats.data());
  expect_neighbours(floats.values());
  HostArray<double> doubles(kernels->device(), 32);
  launch("shuffle_type<double>", 32, doubles.data());
  expect_neighbours(doubles.values());
  HostArray<long long> integers(kernels->device(), 32);
  launch("shuffle_type<long long>", 32, integers.data());
  expect_neighbours(integers.values());

  HostArray<std::uint16_t> halves(kernels->device(), 64);
  launch("shuffle_type<__half>", 32, halves.data());
  launch("shuffle_type<__nv_bfloat16>", 32, halves.data() + 32);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(float_from_f16(halves[i]), static_cast<float>(i ^ 1));
    EXPECT_EQ(float_from_bf16(halves[32 + i]), static_cast<float>(i ^ 1));
  }
}

TEST_P(CpuCollectives, PartsOfAWarpMeetIndependently) {
  HostArray<unsigned> out(kernels->device(), 68);
  launch("masks", 64, out.data());
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned lane = i % 32, rounds = lane < 8 ? 3 : 5;
    EXPECT_EQ(out[i], (lane ^ 1U) + rounds) << i;
  }
  for (unsigned i = 64; i < 68; ++i) EXPECT_EQ(out[i], 0xffffffffU);
}

TEST_P(CpuCollectives, VotesCountPredicates) {
  HostArray<unsigned> out(kernels->device(), 8);
  std::memset(out.data(), 0, 32);
  launch("votes", 64, out.data());
  EXPECT_THAT(out.values(), ElementsAre(0x49249249U, 0U, 1U, 11U, 0x49249249U, 1U, 0U, 11U));
}

TEST_P(CpuCollectives, ReductionsSeeTheirMaskOnly) {
  HostArray<int> out(kernels->device(), 16);
  launch("reductions", 32, out.data());
  EXPECT_THAT(out.values(), ElementsAre(-136, -16, -1, -16, -1, 0xf0, 0xffff, 0,  //
                                        120, 0, 15, 0, 15, 0xf0, -65536, 0));
}

TEST_P(CpuCollectives, BarriersCombinePredicates) {
  HostArray<int> out(kernels->device(), 5);
  launch("barriers", 100, out.data());
  EXPECT_EQ(out[0], 34);
  EXPECT_NE(out[1], 0);
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[3], 0);
  EXPECT_NE(out[4], 0);
}

TEST_P(CpuCollectives, DoNotWaitForThreadsThatReturned) {
  HostArray<int> out(kernels->device(), 4);
  launch("early_return", 96, out.data());
  EXPECT_THAT(out.values(), ElementsAre(70, 32, 32, 6));
}

TEST_P(CpuCollectives, NamedBarriersAreForTheirThreads) {
  HostArray<int> out(kernels->device(), 128);
  launch("named", 128, out.data());
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(out[static_cast<std::size_t>(i)], (i < 64 ? 1000 : 4000) + (i ^ 33)) << i;
  }
}

TEST_P(CpuCollectives, WaitingLoopsLetOthersRun) {
  HostArray<unsigned> out(kernels->device(), 2);
  out[0] = out[1] = 0;
  launch("handshake", 32, out.data(), out.data() + 1);
  EXPECT_EQ(out[1], 1U);
}

INSTANTIATE_TEST_SUITE_P(EachOrder, CpuCollectives,
                         testing::Values(ThreadOrder{ThreadOrder::Kind::forward, 0},
                                         ThreadOrder{ThreadOrder::Kind::reversed, 0},
                                         ThreadOrder{ThreadOrder::Kind::shuffled, 7}));

}  // namespace
}  // namespace mgtune
