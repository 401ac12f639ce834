#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>

#include "core/dtype.h"
#include "device/registry.h"
#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSumSource[] = R"(
#include <mg/shared.cuh>
#include <mg/types.cuh>

struct Pair { float a; double b; };

__global__ void where(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * threads + thread] = block * 1000u + thread;
}

__global__ void parameters(float* out, char c, short s, mg::i64 i, const __grid_constant__ Pair pair) {
  out[0] = c + s + static_cast<float>(i) + pair.a + static_cast<float>(pair.b);
}

__global__ void nothing() {}

template <int kCount>
__global__ void static_shared(unsigned* unwritten, unsigned* sums) {
  MG_SHARED(unsigned, values, [kCount][2]);
  MG_SHARED(double, one);
  const unsigned i = threadIdx.x;
  if (blockIdx.x == 0 || values[i % kCount][0] == 0xffffffffu) atomicAdd(unwritten, 1u);
  __syncthreads();
  if (i < kCount) values[i][0] = values[i][1] = i;
  if (i == 0) one = 0.5;
  __syncthreads();
  unsigned sum = 0;
  for (int k = 0; k < kCount; ++k) sum += values[k][0] + values[k][1];
  if (i == 0) sums[blockIdx.x] = sum + static_cast<unsigned>(2 * one);
}

__global__ void dynamic_shared(unsigned* out, int count) {
  unsigned* const values = mg::dynamic_shared<unsigned>();
  if (threadIdx.x == 0) out[0] = values[count - 1];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) {
    out[1] = 0;
    for (int i = 0; i < count; ++i) out[1] += values[i];
    out[2] = reinterpret_cast<unsigned long long>(mg::dynamic_shared<char>()) % 1024;
  }
}

__global__ void plain_shared(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void atomics(int* i, unsigned long long* u, float* f, double* d, unsigned* bits) {
  atomicAdd(i, 1);
  atomicAdd(u, 1ull << 32);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 0.5);
  atomicMax(bits, threadIdx.x);
  atomicMin(bits + 1, threadIdx.x + 7u);
  atomicOr(bits + 2, 1u << threadIdx.x % 32);
  atomicAnd(bits + 3, ~(1u << threadIdx.x % 32));
  atomicXor(bits + 4, 1u);
  atomicCAS(bits + 5, 0u, 17u);
  atomicExch(bits + 6, 9u);
}

__global__ void intrinsics(float* f, int* i) {
  f[0] = rsqrtf(0.25f);
  f[1] = __expf(0.0f) + __logf(1.0f) + __sinf(0.0f) + __cosf(0.0f) + __powf(2.0f, 3.0f);
  f[2] = __saturatef(1.5f) + __saturatef(-1.5f) + __saturatef(0.25f);
  f[3] = __fdividef(1.0f, 8.0f) + __frcp_rn(4.0f) + __fmaf_rn(2.0f, 3.0f, 4.0f);
  f[4] = min(1.0f, NAN) + max(NAN, 2.0f);
  f[5] = __int_as_float(__float_as_int(-3.5f));
  f[6] = __ldg(f) + __ldcs(f);
  f[7] = __half2float(__float2half(1.0f / 3.0f));
  f[8] = __bfloat162float(__float2bfloat16(1.0f / 3.0f));
  f[9] = static_cast<float>(__half(1.5f) * __half(2.0f) + __half(1.0f));
  __stcs(f + 10, 4.0f);
  i[0] = __popc(0xf0f0u) + __popcll(~0ull);
  i[1] = __clz(1) * 100 + __clz(0);
  i[2] = __ffs(8) * 100 + __ffs(0);
  i[3] = static_cast<int>(__brev(0x80000001u) == 0x80000001u && __brev(1u) == 0x80000000u);
  i[4] = static_cast<int>(__byte_perm(0x33221100u, 0x77665544u, 0x7530u) == 0x77553300u);
  i[5] = static_cast<int>(__byte_perm(0x00000080u, 0u, 0x8888u) == 0xffffffffu);
  i[6] = static_cast<int>(__umulhi(0x80000000u, 6u)) + __mulhi(-1, 1);
  i[7] = static_cast<int>(__funnelshift_l(0x80000000u, 1u, 1u) == 3u &&
                          __funnelshift_r(0u, 1u, 1u) == 0x80000000u);
  i[8] = min(-1, 5) + max(3u, 4u) + static_cast<int>(max(-1, 1u) == 0xffffffffu);
  i[9] = warpSize;
}
)";

class CpuDevice : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    build_kernels(kSumSource,
                  {"where", "parameters", "nothing", "static_shared<8>", "static_shared<5>",
                   "dynamic_shared", "plain_shared", "atomics", "intrinsics"});
  }
};

TEST_F(CpuDevice, HasTheSameLimitsOnEveryMachine) {
  const DeviceInfo& info = kernels->device().info();
  EXPECT_EQ(info.kind, DeviceKind::cpu);
  EXPECT_EQ(info.id, "cpu");
  EXPECT_EQ(info.arch, "cpu");
  EXPECT_EQ(info.limits.compute_capability, 80);
  EXPECT_EQ(info.limits.sm_count, 8);
  EXPECT_EQ(info.limits.max_shared_bytes, 166912);
  EXPECT_EQ(info.limits.l2_bytes, 4194304);
  EXPECT_EQ(info.memory_bytes, 0);
}

// In pages; 0 where the system does not say.
std::int64_t address_space() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// A worker's thread gives back the stack for signals that AddressSanitizer put there: 47 pages.
// What leaks does so in every round; malloc reserves the 16384 pages of one more arena when threads
// happen to meet, and AddressSanitizer keeps memory back until it is as much as it may be.
TEST_F(CpuDevice, OpeningAndClosingLeavesNoMappingsBehind) {
  constexpr int kTimes = 400;
  std::int64_t least_growth = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < 5; ++round) {
    const std::int64_t before = address_space();
    for (int i = 0; i < kTimes; ++i) ASSERT_TRUE(open_device("cpu").ok());
    least_growth = std::min(least_growth, address_space() - before);
  }
  EXPECT_LT(least_growth, 20 * kTimes);
}

TEST_F(CpuDevice, NewMemoryIsUnwrittenAndAligned) {
  for (const std::size_t bytes : {1, 15, 16, 100, 4096, 5000, 1 << 20}) {
    HostArray<unsigned char> array(kernels->device(), bytes);
    EXPECT_THAT(array.values(), Each(0xff)) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 16, 0U) << bytes;
  }
  EXPECT_TRUE(Buffer::allocate(kernels->device(), 0).ok());
}

TEST_F(CpuDevice, RefusesMoreMemoryThanThereIs) {
  for (const int bits : {46, 60}) {  // addresses for the first there are
    const std::size_t bytes = std::size_t{1} << bits;
    const Status status = Buffer::allocate(kernels->device(), bytes).status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(bytes) + " bytes"));
  }
}

TEST_F(CpuDevice, CopiesAndFills) {
  Device& device = kernels->device();
  HostArray<int> array(device, 4);
  const int given[] = {1, 2, 3, 4};
  int got[4] = {};
  ASSERT_TRUE(device.copy_to_device(array.data(), given, sizeof(given)).ok());
  ASSERT_TRUE(device.fill_bytes(array.data() + 1, 0, 2 * sizeof(int), nullptr).ok());
  ASSERT_TRUE(device.copy_to_host(got, array.data(), sizeof(got)).ok());
  EXPECT_THAT(got, ElementsAre(1, 0, 0, 4));
  EXPECT_TRUE(device.synchronize(nullptr).ok());
}

TEST_F(CpuDevice, EveryThreadOfEveryBlockRunsOnce) {
  for (const ThreadOrder order : thread_orders()) {
    ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
    HostArray<unsigned> out(kernels->device(), 24 * 30);
    const Status status = kernels->launch("where", {{2, 3, 4}, {5, 3, 2}}, out.data());
    ASSERT_TRUE(status.ok()) << status.message();
    for (unsigned i = 0; i < 24 * 30; ++i) ASSERT_EQ(out[i], i / 30 * 1000 + i % 30) << i;
  }
  ASSERT_TRUE(kernels->device().set_thread_order({}).ok());
}

TEST_F(CpuDevice, PassesParametersByValue) {
  struct Pair {
    float a;
    double b;
  };
  HostArray<float> out(kernels->device(), 1);
  ASSERT_TRUE(kernels
                  ->launch("parameters", {{1, 1, 1}, {1, 1, 1}}, out.data(), char{1}, short{20},
                           300LL, Pair{0.5F, 0.25})
                  .ok());
  EXPECT_EQ(out[0], 321.75F);

  const Kernel& kernel = *kernels->module().kernel("parameters").value();
  EXPECT_THAT(kernel.parameter_bytes(), ElementsAre(8, 1, 2, 8, 16));
  EXPECT_EQ(kernels->module().kernel("nothing").value()->parameter_bytes().size(), 0U);
}

TEST_F(CpuDevice, SharedMemoryIsOfTheBlockAndUnwrittenAtItsStart) {
  constexpr unsigned kBlocks = 40;
  for (const auto& [kernel, sum] :
       {std::pair("static_shared<8>", 57U), {"static_shared<5>", 21U}}) {
    HostArray<unsigned> unwritten(kernels->device(), 1), sums(kernels->device(), kBlocks);
    unwritten[0] = 0;
    const Status status =
        kernels->launch(kernel, {{kBlocks, 1, 1}, {64, 1, 1}}, unwritten.data(), sums.data());
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(unwritten[0], kBlocks * 64) << kernel;
    EXPECT_THAT(sums.values(), Each(sum)) << kernel;
  }
}

TEST_F(CpuDevice, DynamicSharedMemoryHasTheLaunchsSize) {
  for (const int count : {1, 1000, 166912 / 4}) {
    HostArray<unsigned> out(kernels->device(), 3);
    const auto bytes = static_cast<std::uint32_t>(count) * 4;
    ASSERT_TRUE(
        kernels->launch("dynamic_shared", {{1, 1, 1}, {64, 1, 1}, bytes}, out.data(), count).ok());
    const auto n = static_cast<unsigned>(count);
    EXPECT_THAT(out.values(), ElementsAre(0xffffffffU, n * (n - 1) / 2, 0U));
  }
}

TEST_F(CpuDevice, PlainSharedArraysWorkToo) {
  HostArray<int> out(kernels->device(), 64);
  ASSERT_TRUE(kernels->launch("plain_shared", {{1, 1, 1}, {64, 1, 1}}, out.data()).ok());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 63 - i);
}

TEST_F(CpuDevice, AtomicsAreAtomicAcrossBlocks) {
  HostArray<int> i(kernels->device(), 1);
  HostArray<unsigned long long> u(kernels->device(), 1);
  HostArray<float> f(kernels->device(), 1);
  HostArray<double> d(kernels->device(), 1);
  HostArray<unsigned> bits(kernels->device(), 7);
  i[0] = 0, u[0] = 5, f[0] = 0, d[0] = 0;
  for (const unsigned k : {0U, 2U, 4U, 5U, 6U}) bits[k] = 0;
  bits[1] = bits[3] = 0xffffffffU;
  ASSERT_TRUE(kernels
                  ->launch("atomics", {{100, 1, 1}, {64, 1, 1}}, i.data(), u.data(), f.data(),
                           d.data(), bits.data())
                  .ok());
  EXPECT_EQ(i[0], 6400);
  EXPECT_EQ(u[0], (6400ULL << 32) + 5);
  EXPECT_EQ(f[0], 6400.0F);
  EXPECT_EQ(d[0], 3200.0);
  EXPECT_THAT(bits.values(), ElementsAre(63U, 7U, 0xffffffffU, 0U, 0U, 17U, 9U));
}

TEST_F(CpuDevice, HasTheArithmeticBuiltIns) {
  HostArray<float> f(kernels->device(), 11);
  HostArray<int> i(kernels->device(), 10);
  ASSERT_TRUE(kernels->launch("intrinsics", {{1, 1, 1}, {1, 1, 1}}, f.data(), i.data()).ok());
  const float third = 1.0F / 3.0F;
  EXPECT_THAT(f.values(), ElementsAre(2.0F, 10.0F, 1.25F, 10.375F, 3.0F, -3.5F, 4.0F,
                                      float_from_f16(f16_from_float(third)),
                                      float_from_bf16(bf16_from_float(third)), 4.0F, 4.0F));
  EXPECT_THAT(i.values(), ElementsAre(72, 3132, 400, 1, 1, 1, 2, 1, 4, 32));
}

TEST_F(CpuDevice, LibrariesOfOneInstantiationShareNoStorage) {
  const auto kernel = [](int step) {
    return "template <int kUnused> __global__ void count(int* out) {\n"
           "  static int calls = 0;\n  out[0] = calls += " +
           std::to_string(step) + ";\n}\n";
  };
  const Result<KernelText> ones = KernelText::build(kernel(1), {"count<0>"});
  const Result<KernelText> tens = KernelText::build(kernel(10), {"count<0>"});
  ASSERT_TRUE(ones.ok() && tens.ok());
  HostArray<int> out(kernels->device(), 2);
  ASSERT_TRUE(ones.value().launch("count<0>", {{1, 1, 1}, {1, 1, 1}}, out.data()).ok());
  ASSERT_TRUE(tens.value().launch("count<0>", {{1, 1, 1}, {1, 1, 1}}, out.data() + 1).ok());
  EXPECT_THAT(out.values(), ElementsAre(1, 10));
}

TEST_F(CpuDevice, RefusesGeometryThatNoGpuTakes) {
  HostArray<unsigned> out(kernels->device(), 1);
  const auto message = [&](const LaunchShape& shape) {
    const Status status = kernels->launch("where", shape, out.data());
    EXPECT_EQ(status.code(), StatusCode::launch_failed);
    return status.message();
  };
  EXPECT_THAT(message({{1, 1, 1}, {1025, 1, 1}}),
              HasSubstr("(1025,1,1) has not 1 to 1024 threads"));
  EXPECT_THAT(message({{1, 1, 1}, {32, 0, 1}}), HasSubstr("(32,0,1)"));
  EXPECT_THAT(message({{1, 1, 1}, {1, 1, 65}}), HasSubstr("at most 64 in z"));
  EXPECT_THAT(message({{0, 1, 1}, {32, 1, 1}}), HasSubstr("grid of (0,1,1) is empty"));
  EXPECT_THAT(message({{1, 65536, 1}, {32, 1, 1}}), HasSubstr("(1,65536,1)"));
  EXPECT_THAT(message({{1, 1, 1}, {32, 1, 1}, 166913}), HasSubstr("the cpu device has 166912"));
}

TEST_F(CpuDevice, StaticSharedMemoryCountsToo) {
  const auto source = [](int bytes) {
    return "#include <mg/shared.cuh>\n__global__ void arrays(char* out) {\n  MG_SHARED(char, "
           "values, [" +
           std::to_string(bytes) + "]);\n  out[0] = values[0] = 1;\n}\n";
  };
  HostArray<char> out(kernels->device(), 1);
  const Result<KernelText> fits = KernelText::build(source(166000), {"arrays"});
  ASSERT_TRUE(fits.ok()) << fits.status().message();
  EXPECT_TRUE(fits->launch("arrays", {{1, 1, 1}, {1, 1, 1}, 912}, out.data()).ok());
  const Status both = fits->launch("arrays", {{1, 1, 1}, {1, 1, 1}, 913}, out.data());
  EXPECT_EQ(both.code(), StatusCode::launch_failed);
  EXPECT_EQ(both.message(),
            "913 bytes of dynamic and 166000 of static shared memory; the cpu device has 166912");
  const Result<KernelText> too_large = KernelText::build(source(166913), {"arrays"});
  ASSERT_TRUE(too_large.ok()) << too_large.status().message();
  EXPECT_THAT(too_large->launch("arrays", {{1, 1, 1}, {1, 1, 1}}, out.data()).message(),
              HasSubstr("166913 of static shared memory"));
}

TEST_F(CpuDevice, SaysWhatItDoesNotHave) {
  HostArray<unsigned> out(kernels->device(), 64);
  unsigned* argument = out.data();
  void* arguments[] = {&argument};
  KernelLaunch launch;
  launch.kernel = kernels->module().kernel("where").value();
  launch.args = arguments;
  launch.cluster = {2, 1, 1};
  EXPECT_EQ(kernels->device().launch(launch).code(), StatusCode::unsupported);
  launch.cluster = {1, 1, 1};
  launch.cooperative = true;
  EXPECT_EQ(kernels->device().launch(launch).code(), StatusCode::unsupported);
  launch.cooperative = false;
  launch.args = nullptr;
  EXPECT_THAT(kernels->device().launch(launch).message(), HasSubstr("1 parameters of where"));
  EXPECT_EQ(kernels->device().max_clusters(launch).value(), 0);
  EXPECT_EQ(kernels->device().blocks_per_sm(*launch.kernel, 128, 0).value(), 1);
}

TEST_F(CpuDevice, RefusesBuildsThatAreNotItsOwn) {
  Build build = build_kernel_text("__global__ void k() {}", {"k"}).value();
  EXPECT_EQ(kernels->module().kernel("k").status().code(), StatusCode::not_found);

  Build other = build;
  other.arch = "sm_90a";
  EXPECT_EQ(kernels->device().load(other).status().code(), StatusCode::unsupported);

  other = build;
  other.kernels[0].symbol = "gone";
  EXPECT_THAT(kernels->device().load(other).status().message(), HasSubstr("no symbol 'gone'"));

  other = build;
  other.binary = "not a library";
  EXPECT_THAT(kernels->device().load(other).status().message(), HasSubstr("cannot load the build"));
}

}  // namespace
}  // namespace mgtune
