// Kernels with a planted fault: each must come back as a message that names the block, the threads
// and the line, or end the process with one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <string_view>

#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kSanitize = MGTUNE_SANITIZE;
constexpr bool kAddressSanitizer = kSanitize.find("address") != std::string_view::npos;
constexpr bool kThreadSanitizer = kSanitize.find("thread") != std::string_view::npos;

// Messages name lines of this text; it starts with line 2.
constexpr char kFaultySource[] = R"(
#include <assert.h>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>

__global__ void missing_barrier(float* out) {
  MG_SHARED(float, values, [128]);
  values[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = values[threadIdx.x ^ 32];
}

__global__ void divergent_shuffle(float* out) {
  float value = threadIdx.x;
  if (threadIdx.x % 32 < 16) {
    value = __shfl_xor_sync(0xffffffffu, value, 1);  // line 15
  }
  __syncthreads();  // line 17
  out[threadIdx.x] = value;
}

__global__ void two_shuffles(float* out) {
  float value = threadIdx.x;
  if (threadIdx.x < 16) {
    value = __shfl_xor_sync(0xffffffffu, value, 1);  // line 24
  } else {
    value = __shfl_xor_sync(0xffffffffu, value, 2);  // line 26
  }
  out[threadIdx.x] = value;
}

__global__ void shuffle_from_gone(float* out) {
  if (threadIdx.x % 2 == 1) return;
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);  // line 33
}

__global__ void mask_without_self(float* out) {
  out[threadIdx.x] = __shfl_sync(0x00ffffffu, 1.0f, 0);  // line 37
}

__global__ void bad_width(float* out) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0, 12);  // line 41
}

__global__ void divergent_barrier(float* out) {
  if (threadIdx.x < 40) {
    __syncthreads();  // line 46
  } else {
    __syncthreads();  // line 48
  }
  out[threadIdx.x] = 0;
}

__global__ void named_barrier_too_few(float* out) {
  if (threadIdx.x < 32) mgcpu::named_barrier(3, 64);  // line 54
  out[threadIdx.x] = 0;
}

__global__ void named_barrier_zero(float*) {
  mgcpu::named_barrier(0, 64);  // line 59
}

__global__ void endless_pause(unsigned* flag) {
  while (threadIdx.x == 5 && atomicAdd(flag, 0u) == 0) __nanosleep(20);  // line 63
  __syncthreads();  // line 64
}

__global__ void endless_loop(volatile unsigned* flag) {
  if (threadIdx.x == 37) {
    while (*flag == 0) {  // line 69
    }
  }
  __syncthreads();
}

__global__ void asserts(int limit) {
  assert(static_cast<int>(blockIdx.x * 64 + threadIdx.x) < limit);  // line 76
}

__global__ void traps() {
  if (threadIdx.x == 3) __trap();  // line 80
}

__global__ void writes(float* out, int index) {
  if (threadIdx.x == 33) out[index] = 1.0f;  // line 84
}

__device__ int recurse(int depth, volatile int* out) {
  volatile int frame[256];
  frame[depth % 256] = depth;
  return depth == 0 ? frame[0] : recurse(depth - 1, out) + frame[depth % 256] + *out;
}

__global__ void deep(int* out, int depth) {
  if (threadIdx.x == 2) out[0] = recurse(depth, out);
}

__global__ void divides(int* out, unsigned by) {
  if (threadIdx.x == 1) out[0] = 100 * threadIdx.x / by;  // line 98
}

__global__ void shared_overflow(float* out, int index) {
  MG_SHARED(float, values, [32]);
  float* const first = values;
  if (threadIdx.x == 4) first[index] = 1.0f;  // line 104
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}
)";

class CpuFaults : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("MGTUNE_CPU_DEADLINE_S", "0.3", 1);
    build_kernels(kFaultySource,
                  {"missing_barrier", "divergent_shuffle", "two_shuffles", "shuffle_from_gone",
                   "mask_without_self", "bad_width", "divergent_barrier", "named_barrier_too_few",
                   "named_barrier_zero", "endless_pause", "endless_loop", "asserts", "traps",
                   "writes", "deep", "divides", "shared_overflow"});
  }

  static Device& device() { return kernels->device(); }

  template <class... Args>
  static std::string failure(const char* kernel, const LaunchShape& shape, Args... args) {
    const Status status = kernels->launch(kernel, shape, args...);
    const bool is_endless = std::string_view(kernel).starts_with("endless");
    EXPECT_EQ(status.code(), is_endless ? StatusCode::timeout : StatusCode::launch_failed)
        << kernel;
    return status.message();
  }
};

constexpr LaunchShape k64Threads{{1, 1, 1}, {64, 1, 1}, 0};

TEST_F(CpuFaults, AMissingBarrierGivesOtherBitsInAnotherOrder) {
  std::set<std::vector<float>> results;
  for (const ThreadOrder order : thread_orders()) {
    ASSERT_TRUE(device().set_thread_order(order).ok());
    HostArray<float> out(device(), 128);
    ASSERT_TRUE(kernels->launch("missing_barrier", {{1, 1, 1}, {128, 1, 1}}, out.data()).ok());
    std::vector<float> values = out.values();
    for (float& value : values) value = value == value ? value : -1;  // NaN: read before written
    results.insert(values);
  }
  ASSERT_TRUE(device().set_thread_order({}).ok());
  EXPECT_EQ(results.size(), 6U);
}

TEST_F(CpuFaults, AShuffleThatHalfAWarpReachesIsADeadlock) {
  HostArray<float> out(device(), 64);
  EXPECT_EQ(failure("divergent_shuffle", k64Threads, out.data()),
            "block (0,0,0): deadlock: no thread can go on\n"
            "    32 threads [(0,0,0), (1,0,0), (2,0,0), ...] in __shfl_xor_sync(mask 0xffffffff) "
            "at test.cu:15\n"
            "    32 threads [(16,0,0), (17,0,0), (18,0,0), ...] in __syncthreads at test.cu:17");
}

TEST_F(CpuFaults, OneMaskAtTwoLinesIsNamed) {
  HostArray<float> out(device(), 32);
  EXPECT_EQ(failure("two_shuffles", {}, out.data()),
            "block (0,0,0): lanes of one warp are in different collectives: thread (0,0,0) in "
            "__shfl_xor_sync(mask 0xffffffff) at test.cu:24, thread (16,0,0) in "
            "__shfl_xor_sync(mask 0xffffffff) at test.cu:26");
}

TEST_F(CpuFaults, AShuffleFromALaneThatReturnedIsNamed) {
  HostArray<float> out(device(), 32);
  EXPECT_EQ(failure("shuffle_from_gone", {}, out.data()),
            "block (0,0,0): thread (0,0,0): __shfl_xor_sync(mask 0xffffffff) at test.cu:33 reads "
            "lane 1, which the mask names but which has returned");
}

TEST_F(CpuFaults, WrongMasksAndWidthsAreNamed) {
  HostArray<float> out(device(), 32);
  EXPECT_EQ(failure("mask_without_self", {}, out.data()),
            "block (0,0,0): thread (24,0,0): __shfl_sync(mask 0x00ffffff) at test.cu:37: the mask "
            "does not name the calling lane 24");
  EXPECT_THAT(failure("bad_width", {}, out.data()),
              HasSubstr("test.cu:41: width 12 is not a power of two up to 32"));
}

TEST_F(CpuFaults, ABarrierUnderDivergenceIsNamed) {
  HostArray<float> out(device(), 64);
  EXPECT_EQ(failure("divergent_barrier", k64Threads, out.data()),
            "block (0,0,0): threads of one block are at different barriers: thread (0,0,0) in "
            "__syncthreads at test.cu:46, thread (40,0,0) in __syncthreads at test.cu:48");
}

TEST_F(CpuFaults, ANamedBarrierThatTooFewReachIsADeadlock) {
  HostArray<float> out(device(), 64);
  EXPECT_THAT(failure("named_barrier_too_few", k64Threads, out.data()),
              AllOf(HasSubstr("deadlock"), HasSubstr("32 threads"), HasSubstr("test.cu:54")));
  EXPECT_THAT(failure("named_barrier_zero", k64Threads, out.data()),
              AllOf(HasSubstr("barrier 0 is not one of 1 to 15"), HasSubstr("test.cu:59")));
}

TEST_F(CpuFaults, AnEndlessWaitEndsAtTheDeadline) {
  HostArray<unsigned> flag(device(), 1);
  flag[0] = 0;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(
      failure("endless_pause", {}, flag.data()),
      AllOf(StartsWith("block (0,0,0): endless wait: still running after 0.3 s\n"
                       "    31 threads [(0,0,0), (1,0,0), (2,0,0), ...] in __syncthreads at "
                       "test.cu:64\n"
                       "    1 thread [(5,0,0)] "),
            EndsWith("at test.cu:63")));  // pausing there, or on the way
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(CpuFaults, AnEndlessLoopIsTakenOutOfItsThread) {
  // ThreadSanitizer holds signals back until a thread calls it, which such a loop never does.
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer holds the watchdog's signal back";
  HostArray<unsigned> flag(device(), 1);
  flag[0] = 0;
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(failure("endless_loop", {{2, 1, 1}, {64, 1, 1}}, flag.data()),
                AllOf(StartsWith("block (0,0,0): endless wait"),
                      HasSubstr("1 thread [(37,0,0)] running at test.cu:69"),
                      HasSubstr("37 threads [(0,0,0), (1,0,0), (2,0,0), ...] in __syncthreads"),
                      HasSubstr("26 threads [(38,0,0), (39,0,0), (40,0,0), ...] ready to run")));
  }
  flag[0] = 1;
  EXPECT_TRUE(kernels->launch("endless_loop", k64Threads, flag.data()).ok());
}

TEST_F(CpuFaults, AssertAndTrapNameTheThread) {
  EXPECT_EQ(failure("asserts", {{4, 1, 1}, {64, 1, 1}}, 10),
            "block (0,0,0): thread (10,0,0): assertion failed at test.cu:76: "
            "static_cast<int>(blockIdx.x * 64 + threadIdx.x) < limit");
  EXPECT_THAT(failure("asserts", {{4, 1, 1}, {64, 1, 1}}, 200),
              StartsWith("block (3,0,0): thread (8,0,0): assertion failed at test.cu:76"));
  EXPECT_EQ(failure("traps", k64Threads), "block (0,0,0): thread (3,0,0): __trap at test.cu:80");
}

TEST_F(CpuFaults, TheDeviceGoesOnAfterAFailure) {
  HostArray<float> out(device(), 64);
  for (int round = 0; round < 50; ++round) {
    EXPECT_NE(failure("divergent_barrier", {{8, 1, 1}, {64, 1, 1}}, out.data()), "");
    EXPECT_TRUE(kernels->launch("asserts", k64Threads, 64).ok());
  }
}

TEST_F(CpuFaults, AWriteOutOfBoundsEndsTheProcessNamingThreadBufferAndLine) {
  HostArray<float> out(device(), 1024);
  const std::string expected =
      kAddressSanitizer ? "heap-buffer-overflow(.|\n)*test.cu:84(.|\n)*thread \\(33,0,0\\)"
                        : "block \\(0,0,0\\), thread \\(33,0,0\\): writes byte 4096 of a buffer of "
                          "4096 bytes at test.cu:84";
  EXPECT_DEATH(static_cast<void>(kernels->launch("writes", k64Threads, out.data(), 1024)),
               expected);
  EXPECT_TRUE(kernels->launch("writes", k64Threads, out.data(), 1023).ok());
}

TEST_F(CpuFaults, AWriteThroughABadPointerEndsTheProcess) {
  HostArray<float> out(device(), 1000);
  EXPECT_DEATH(static_cast<void>(kernels->launch("writes", k64Threads, out.data(), -1'000'000'000)),
               "thread \\(33,0,0\\): writes (address 0x[0-9a-f]+, which is in no buffer|byte)");
}

TEST_F(CpuFaults, UnderAddressSanitizerOneElementIsEnough) {
  if (!kAddressSanitizer) GTEST_SKIP() << "needs an AddressSanitizer build";
  HostArray<float> out(device(), 33);  // ends within a 16-byte unit
  EXPECT_DEATH(static_cast<void>(kernels->launch("writes", k64Threads, out.data(), 33)),
               "heap-buffer-overflow(.|\n)*test.cu:84");
  HostArray<float> shared(device(), 32);
  EXPECT_DEATH(static_cast<void>(kernels->launch("shared_overflow", {}, shared.data(), 32)),
               "use-after-poison(.|\n)*test.cu:104");
}

TEST_F(CpuFaults, AStackOverflowEndsTheProcessNamingTheThread) {
  HostArray<int> out(device(), 1);
  out[0] = 0;
  EXPECT_DEATH(static_cast<void>(kernels->launch("deep", k64Threads, out.data(), 100'000)),
               "stack overflow of thread \\(2,0,0\\)");
  EXPECT_TRUE(kernels->launch("deep", k64Threads, out.data(), 5).ok());
}

TEST_F(CpuFaults, ADivisionByZeroEndsTheProcessNamingTheThread) {
  HostArray<int> out(device(), 1);
  EXPECT_DEATH(static_cast<void>(kernels->launch("divides", k64Threads, out.data(), 0U)),
               "division by zero(.|\n)*test.cu:98|test.cu:98(.|\n)*division by zero");
}

TEST(CpuDeadline, MustBeAPositiveNumber) {
  for (const char* word : {"0", "-1", "soon", "1s", "nan", ""}) {
    setenv("MGTUNE_CPU_DEADLINE_S", word, 1);
    EXPECT_THAT(open_device("cpu").status().message(),
                AllOf(HasSubstr("MGTUNE_CPU_DEADLINE_S"), HasSubstr(word)));
  }
  unsetenv("MGTUNE_CPU_DEADLINE_S");
}

TEST(CpuComputeCapability, IsThatOfAmpereUnlessHopperIsAskedFor) {
  EXPECT_EQ(open_device("cpu").value()->info().limits.compute_capability, 80);
  setenv("MGTUNE_CPU_COMPUTE_CAPABILITY", "90", 1);
  const DeviceLimits hopper = open_device("cpu").value()->info().limits;
  EXPECT_EQ(hopper.compute_capability, 90);
  EXPECT_EQ(hopper.max_shared_bytes, 227 << 10);
  setenv("MGTUNE_CPU_COMPUTE_CAPABILITY", "9.0", 1);
  EXPECT_THAT(open_device("cpu").status().message(),
              HasSubstr("MGTUNE_CPU_COMPUTE_CAPABILITY: expected 80 or 90, got '9.0'"));
  unsetenv("MGTUNE_CPU_COMPUTE_CAPABILITY");
}

}  // namespace
}  // namespace mgtune
