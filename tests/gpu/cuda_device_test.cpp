// CudaDevice on a real GPU.

#include "device/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

using testing::Each;
using testing::HasSubstr;

class CudaDeviceTest : public RealGpuTest {};

constexpr char kAddOneSource[] = R"(
__global__ void add_one(int* values, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
})";

constexpr char kDynamicShared[] = R"(
extern __shared__ int held[];
__global__ void through_shared(int* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) held[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = held[count - 1 - i];
})";

constexpr char kClusterSize[] = R"(
__global__ void cluster_size(int* out) {
  int size = 1;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
#endif
  if (threadIdx.x == 0) out[blockIdx.x] = size;
})";

constexpr char kReadTile[] = R"(
struct alignas(64) Map { unsigned char bytes[128]; };
__global__ void read_tile(const __grid_constant__ Map map, int* out, int x, int y) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) int tile[8 * 32];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned at_barrier = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at_barrier));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at_barrier));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"((unsigned)__cvta_generic_to_shared(tile)),
        "l"(&map), "r"(x), "r"(y), "r"(at_barrier)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(at_barrier)
        : "memory");
  }
  for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) out[i] = tile[i];
#endif
})";

KernelLaunch launch_of(const Kernel* kernel, std::uint32_t grid, std::uint32_t block) {
  KernelLaunch launch;
  launch.kernel = kernel;
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  return launch;
}

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  const DeviceInfo& info = device().info();
  std::cout << info.name << ", " << info.arch << ", driver " << info.driver << "\n";
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_THAT(info.id, testing::MatchesRegex(
                           "GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
  EXPECT_THAT(info.arch, testing::StartsWith("sm_"));
  EXPECT_GE(info.limits.compute_capability, 75);
  EXPECT_GT(info.limits.sm_count, 0);
  EXPECT_GE(info.limits.max_shared_bytes, 48 << 10);
  EXPECT_GT(info.limits.l2_bytes, 1 << 19);
  EXPECT_GT(info.memory_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(list_cuda_devices(*cuda_driver())->devices.front().id, info.id);
}

TEST_F(CudaDeviceTest, MemoryComesBackAsItWent) {
  std::vector<int> values(100'000);
  std::iota(values.begin(), values.end(), 7);
  const std::size_t bytes = values.size() * sizeof(int);
  const Buffer buffer = Buffer::allocate(device(), bytes).value();
  ASSERT_TRUE(device().copy_to_device(buffer.data(), values.data(), bytes).ok());
  EXPECT_EQ(download<int>(buffer), values);
  ASSERT_TRUE(device().fill_bytes(buffer.data(), 0xff, bytes, nullptr).ok());
  ASSERT_TRUE(device().synchronize(nullptr).ok());
  EXPECT_THAT(download<int>(buffer), Each(-1));
  EXPECT_TRUE(Buffer::allocate(device(), 0).ok());
}

TEST_F(CudaDeviceTest, SaysThatThereIsNoRoom) {
  const auto bytes = static_cast<std::size_t>(device().info().memory_bytes) * 2;
  const Status status = Buffer::allocate(device(), bytes).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(),
              HasSubstr(" has no room for " + std::to_string(bytes) + " bytes: "));
}

TEST_F(CudaDeviceTest, LaunchesAKernel) {
  const Kernel* const add_one = kernel(kAddOneSource, "add_one");
  ASSERT_NE(add_one, nullptr);
  ASSERT_EQ(add_one->parameter_bytes().size(), 2U);
  EXPECT_EQ(add_one->parameter_bytes()[0], 8U);
  EXPECT_EQ(add_one->parameter_bytes()[1], 8U);
  const Buffer buffer = Buffer::allocate(device(), 1000 * sizeof(int)).value();
  ASSERT_TRUE(device().fill_bytes(buffer.data(), 0, buffer.bytes(), nullptr).ok());
  for (int i = 0; i < 3; ++i) {
    const Status status = launch(launch_of(add_one, 8, 128), buffer.data(), std::int64_t{1000});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(device().synchronize(nullptr).ok());
  EXPECT_THAT(download<int>(buffer), Each(3));
}

TEST_F(CudaDeviceTest, AKernelMayUseAllOfTheSharedMemory) {
  const Kernel* const through_shared = kernel(kDynamicShared, "through_shared");
  ASSERT_NE(through_shared, nullptr);
  const auto bytes = static_cast<std::uint32_t>(device().info().limits.max_shared_bytes);
  const int count = static_cast<int>(bytes / sizeof(int));
  const Buffer out = Buffer::allocate(device(), bytes).value();
  KernelLaunch all = launch_of(through_shared, 1, 256);
  all.shared_bytes = bytes;
  ASSERT_TRUE(launch(all, out.data(), count).ok());
  ASSERT_TRUE(device().synchronize(nullptr).ok());
  EXPECT_EQ(download<int>(out).front(), count - 1);
  EXPECT_EQ(download<int>(out).back(), 0);
  EXPECT_EQ(device().blocks_per_sm(*through_shared, 256, bytes).value(), 1);

  all.shared_bytes = bytes + 4096;
  const Status status = launch(all, out.data(), count);
  EXPECT_EQ(status.code(), StatusCode::launch_failed);
  EXPECT_THAT(status.message(), HasSubstr("through_shared: CUDA_ERROR_"));
  all.shared_bytes = bytes;
  EXPECT_TRUE(launch(all, out.data(), count).ok());
  EXPECT_TRUE(device().synchronize(nullptr).ok());
}

TEST_F(CudaDeviceTest, LaunchesClustersAndCooperativeGrids) {
  const Kernel* const cluster_size = kernel(kClusterSize, "cluster_size");
  ASSERT_NE(cluster_size, nullptr);
  const Buffer out = Buffer::allocate(device(), 8 * sizeof(int)).value();
  KernelLaunch clusters = launch_of(cluster_size, 8, 64);
  if (device().info().limits.compute_capability >= 90) {
    clusters.cluster = {4, 1, 1};
    EXPECT_GT(device().max_clusters(clusters).value(), 0);
    ASSERT_TRUE(launch(clusters, out.data()).ok());
    ASSERT_TRUE(device().synchronize(nullptr).ok());
    EXPECT_THAT(download<int>(out), Each(4));
    clusters.cluster = {1, 1, 1};
  } else {
    std::cout << "no clusters before sm_90: not tested\n";
  }
  clusters.cooperative = true;
  ASSERT_TRUE(launch(clusters, out.data()).ok());
  ASSERT_TRUE(device().synchronize(nullptr).ok());
  EXPECT_THAT(download<int>(out), Each(1));
}

TEST_F(CudaDeviceTest, ATensorMapIsWhatTheCopyEngineReads) {
  if (device().info().limits.compute_capability < 90) {
    EncodedTensorMap map;
    EXPECT_FALSE(device().encode_tensor_map({}, map).ok());
    std::cout << "no tensor maps before sm_90: only the refusal is tested\n";
    return;
  }
  const Kernel* const read_tile = kernel(kReadTile, "read_tile");
  ASSERT_NE(read_tile, nullptr);
  ASSERT_EQ(read_tile->parameter_bytes().front(), sizeof(EncodedTensorMap));
  constexpr int kRows = 21;
  constexpr int kColumns = 50;
  constexpr int kStride = 64;  // elements; a row is padded
  std::vector<int> values(kRows * kStride, -1);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      values[static_cast<std::size_t>(row * kStride + column)] = 100 * row + column + 1;
    }
  }
  const Buffer in = Buffer::allocate(device(), values.size() * sizeof(int)).value();
  const Buffer out = Buffer::allocate(device(), std::size_t{8} * 32 * sizeof(int)).value();
  ASSERT_TRUE(device().copy_to_device(in.data(), values.data(), in.bytes()).ok());
  TensorMapRequest request;
  request.memory = in.data();
  request.dtype = DType::i32;
  request.rank = 2;
  request.extent = {kColumns, kRows};
  request.stride_bytes = {kStride * sizeof(int)};
  request.box = {32, 8};
  EncodedTensorMap map;
  const Status encoded = device().encode_tensor_map(request, map);
  ASSERT_TRUE(encoded.ok()) << encoded.message();
  // The second tile ends outside of the tensor, on both sides: zeros.
  for (const auto& [x, y] : {std::pair{0, 0}, std::pair{32, 16}}) {
    ASSERT_TRUE(launch(launch_of(read_tile, 1, 32), map, out.data(), x, y).ok());
    ASSERT_TRUE(device().synchronize(nullptr).ok());
    const std::vector<int> tile = download<int>(out);
    for (int i = 0; i < 8 * 32; ++i) {
      const int row = y + i / 32;
      const int column = x + i % 32;
      const int expected = row < kRows && column < kColumns ? 100 * row + column + 1 : 0;
      ASSERT_EQ(tile[static_cast<std::size_t>(i)], expected)
          << "row " << row << " column " << column;
    }
  }
  request.stride_bytes = {kStride * sizeof(int) + 4};
  EXPECT_EQ(device().encode_tensor_map(request, map).code(), StatusCode::invalid_argument);
}

TEST_F(CudaDeviceTest, ALaunchCanBeCaptured) {
  const Kernel* const add_one = kernel(kAddOneSource, "add_one");
  ASSERT_NE(add_one, nullptr);
  const Buffer buffer = Buffer::allocate(device(), 1000 * sizeof(int)).value();
  const CudaDriver& driver = *cuda_driver();
  CUstream stream = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  // A plan made meanwhile must not break the capture.
  EXPECT_NE(kernel(kClusterSize, "cluster_size"), nullptr);
  ASSERT_TRUE(device().fill_bytes(buffer.data(), 0, buffer.bytes(), stream).ok());
  KernelLaunch one = launch_of(add_one, 8, 128);
  one.stream = stream;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(launch(one, buffer.data(), std::int64_t{1000}).ok());
  }
  CUgraph graph = nullptr;
  CUgraphExec replay = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiate(&replay, graph, 0), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(driver.cuGraphLaunch(replay, stream), CUDA_SUCCESS);
  ASSERT_TRUE(device().synchronize(stream).ok());
  EXPECT_THAT(download<int>(buffer), Each(2));  // each replay begins with the memset
  driver.cuGraphExecDestroy(replay);
  driver.cuGraphDestroy(graph);
  driver.cuStreamDestroy(stream);
}

TEST_F(CudaDeviceTest, NamesAKernelThatIsNotThere) {
  const SourceTree sources{"test", {{"test.cu", kAddOneSource}}};
  const std::string& arch = device().info().arch;
  Build build =
      make_nvrtc_compiler(arch).value()->compile({&sources, "test.cu", {"add_one"}, arch}).value();
  const auto module = device().load(build);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->kernel("add_two").status().message(), "the build has no kernel add_two");
  build.kernels.front().symbol = "absent";
  EXPECT_THAT(device().load(build).status().message(),
              testing::StartsWith("add_one: finding the kernel: CUDA_ERROR_NOT_FOUND"));
}

}  // namespace
}  // namespace mgtune
