#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr bool kUnderThreadSanitizer =
    std::string_view(MGTUNE_SANITIZE).find("thread") != std::string_view::npos;

// Messages name lines of this text.
constexpr char kRacySource[] = R"(
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/vec.cuh>

template <bool kBarrier>
__global__ void neighbour(float* out) {
  MG_SHARED(float, values, [64]);
  values[threadIdx.x] = threadIdx.x;  // line 9
  if (kBarrier) __syncthreads();
  out[threadIdx.x] = values[threadIdx.x ^ 32];  // line 11
}

// Two barriers in a round, or one: then a fast thread overwrites what a slow one still reads.
template <bool kBarrier>
__global__ void rounds(float* out) {
  float* const values = mg::dynamic_shared<float>();
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    values[threadIdx.x] = round;  // line 20
    __syncthreads();
    sum += values[63 - threadIdx.x];  // line 22
    if (kBarrier) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <bool kSyncwarp>
__global__ void within_warp(float* out) {
  MG_SHARED(float, values, [64]);
  values[threadIdx.x] = 1;  // line 31
  const float other = __shfl_xor_sync(0xffffffffu, 2.0f, 1);
  if (kSyncwarp) __syncwarp();
  out[threadIdx.x] = other + values[threadIdx.x ^ 1];  // line 34
}

template <bool kAtomic>
__global__ void counter(int* out) {
  MG_SHARED(int, count);
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (kAtomic) atomicAdd(&count, 1); else count += 1;  // line 42
  __syncthreads();
  out[0] = count;
}

template <bool kBarrier>
__global__ void vectors(float* out) {
  float* const values = mg::dynamic_shared<float>();
  mg::Vec<float, 4> mine = {{1, 2, 3, 4}};
  mg::store<4>(values + 4 * threadIdx.x, mine);  // line 51
  if (kBarrier) __syncthreads();
  out[threadIdx.x] = values[(4 * threadIdx.x + 131) % 256];  // line 53
}

template <int kThreads>
__global__ void reduce(float* out) {
  MG_SHARED(float, scratch, [mg::sum_scratch_floats<kThreads, 128 / kThreads>()]);
  out[threadIdx.x] = mg::sum<kThreads>(1.0f, scratch);
}

template <bool kBarrier>
__global__ void reduce_twice(float* out) {
  MG_SHARED(float, scratch, [mg::sum_scratch_floats<128, 1>()]);
  const float once = mg::sum<128>(1.0f, scratch);  // line 65
  if (kBarrier) __syncthreads();
  out[threadIdx.x] = mg::sum<128>(once, scratch);  // line 67
}

__global__ void named(float* out) {
  MG_SHARED(float, values, [64]);
  values[threadIdx.x] = threadIdx.x;
  mgcpu::named_barrier(1, 64);
  out[threadIdx.x] = values[63 - threadIdx.x];
}
)";

class RaceChecker : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    if (kUnderThreadSanitizer) return;
    build_kernels(kRacySource,
                  {"neighbour<true>", "neighbour<false>", "rounds<true>", "rounds<false>",
                   "within_warp<true>", "within_warp<false>", "counter<true>", "counter<false>",
                   "vectors<true>", "vectors<false>", "reduce<16>", "reduce<32>", "reduce<64>",
                   "reduce<128>", "reduce_twice<true>", "reduce_twice<false>", "named"},
                  "cpu-race");
  }

  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "libtsan has the hooks' names";
  }

  // Of a launch of several blocks; "" when it passes.
  static std::string failure(const std::string& kernel, std::uint32_t threads) {
    HostArray<float> out(kernels->device(), 256);
    const LaunchShape shape{{3, 1, 1}, {threads, 1, 1}, 1024};
    const Status status = kernels->launch(kernel, shape, static_cast<void*>(out.data()));
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::launch_failed);
    return status.message();
  }
};

TEST_F(RaceChecker, NamesBothThreadsAndLinesOfAMissingBarrier) {
  // In ascending order thread 0 is through before thread 32 starts; in the other it comes last.
  EXPECT_EQ(failure("neighbour<false>", 64),
            "block (0,0,0): race on shared memory: thread (0,0,0) read at test.cu:11, thread "
            "(32,0,0) writes at test.cu:9, no __syncthreads between them");
  ASSERT_TRUE(kernels->device().set_thread_order({ThreadOrder::Kind::reversed, 0}).ok());
  EXPECT_EQ(failure("neighbour<false>", 64),
            "block (0,0,0): race on shared memory: thread (63,0,0) read at test.cu:11, thread "
            "(31,0,0) writes at test.cu:9, no __syncthreads between them");
  ASSERT_TRUE(kernels->device().set_thread_order({}).ok());
}

TEST_F(RaceChecker, FindsAMissingSecondBarrierInALoop) {
  EXPECT_THAT(failure("rounds<false>", 64), AllOf(HasSubstr("test.cu:20"), HasSubstr("test.cu:22"),
                                                  HasSubstr("no __syncthreads")));
}

TEST_F(RaceChecker, FindsAMissingSyncwarpAndShufflesAreNone) {
  EXPECT_THAT(failure("within_warp<false>", 64),
              AllOf(HasSubstr("test.cu:31"), HasSubstr("test.cu:34"),
                    HasSubstr("no __syncwarp between them")));
}

TEST_F(RaceChecker, AtomicsDoNotRaceWithEachOther) {
  EXPECT_THAT(failure("counter<false>", 64), HasSubstr("test.cu:42"));
  EXPECT_EQ(failure("counter<true>", 64), "");
}

TEST_F(RaceChecker, SeesVectorAccessesThroughTheDeviceHeaders) {
  EXPECT_THAT(failure("vectors<false>", 64),
              AllOf(HasSubstr("test.cu:51"), HasSubstr("test.cu:53")));
}

TEST_F(RaceChecker, ScratchOfTwoSumsNeedsABarrierBetween) {
  EXPECT_THAT(failure("reduce_twice<false>", 128),
              AllOf(HasSubstr("read at test.cu:65"), HasSubstr("writes at test.cu:67")));
}

TEST_F(RaceChecker, HasNothingToSayAboutCorrectKernels) {
  for (const ThreadOrder order : thread_orders()) {
    ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
    for (const char* kernel : {"neighbour<true>", "rounds<true>", "within_warp<true>",
                               "counter<true>", "vectors<true>", "named"}) {
      EXPECT_EQ(failure(kernel, 64), "") << kernel;
    }
    for (const char* kernel :
         {"reduce<16>", "reduce<32>", "reduce<64>", "reduce<128>", "reduce_twice<true>"}) {
      EXPECT_EQ(failure(kernel, 128), "") << kernel;
    }
  }
  ASSERT_TRUE(kernels->device().set_thread_order({}).ok());
}

TEST_F(RaceChecker, FindsTheRaceInEveryThreadOrder) {
  for (const ThreadOrder order : thread_orders()) {
    ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
    for (const char* kernel : {"neighbour<false>", "rounds<false>", "vectors<false>"}) {
      EXPECT_THAT(failure(kernel, 64), HasSubstr("race on shared memory")) << kernel;
    }
  }
  ASSERT_TRUE(kernels->device().set_thread_order({}).ok());
}

TEST(RaceCheckerUnderThreadSanitizer, IsNotThere) {
  if (!kUnderThreadSanitizer) GTEST_SKIP();
  EXPECT_EQ(make_compiler("cpu-race").status().code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace mgtune
