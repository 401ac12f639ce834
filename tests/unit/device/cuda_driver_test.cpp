#include "device/cuda/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device/cuda/cuda_device.h"
#include "tests/helpers/fakes/fake_cuda.h"
#include "tests/helpers/fakes/fake_loader.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

class CudaDriverTest : public testing::Test {
 protected:
  void SetUp() override { loader_.libraries["libcuda.so.1"] = cuda_.symbols(); }

  Status failure() {
    const Status status = open_cuda_driver(loader_).status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    return status;
  }

  CudaDriver driver() { return open_cuda_driver(loader_).value(); }

  FakeCuda cuda_;
  FakeLoader loader_;
};

TEST_F(CudaDriverTest, OpensWithEveryFunction) {
  const Result<CudaDriver> driver = open_cuda_driver(loader_);
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  EXPECT_EQ(driver->version, 13000);
  EXPECT_EQ(driver->path, "libcuda.so.1");
#define MGTUNE_EXPECT(function, symbol) EXPECT_NE(driver->function, nullptr) << symbol;
  MGTUNE_CUDA_FUNCTIONS(MGTUNE_EXPECT)
#undef MGTUNE_EXPECT
}

TEST_F(CudaDriverTest, SaysThatThereIsNoDriver) {
  loader_.libraries.clear();
  EXPECT_EQ(failure().message(), "no NVIDIA driver: not found: libcuda.so.1, libcuda.so");
}

TEST_F(CudaDriverTest, SaysWhyADriverDoesNotLoad) {
  loader_.broken["libcuda.so.1"] = "libcuda.so.1: file too short";
  EXPECT_EQ(failure().message(), "no NVIDIA driver: libcuda.so.1: file too short");
}

TEST_F(CudaDriverTest, AnOldDriverIsNamedBeforeTheFunctionsItLacks) {
  cuda_.version = 12020;
  loader_.libraries["libcuda.so.1"].erase("cuKernelGetParamInfo");
  EXPECT_EQ(failure().message(),
            "the NVIDIA driver at libcuda.so.1 is for CUDA 12.2; mgtune needs one for CUDA 12.4 or "
            "newer");
}

TEST_F(CudaDriverTest, TheOldestDriverNeedsNoNewerSymbols) {
  cuda_.version = 12040;
  EXPECT_FALSE(loader_.libraries["libcuda.so.1"].contains("cuEventElapsedTime_v2"));
  EXPECT_TRUE(open_cuda_driver(loader_).ok());
}

TEST_F(CudaDriverTest, NamesAMissingFunction) {
  loader_.libraries["libcuda.so.1"].erase("cuMemAlloc_v2");
  EXPECT_EQ(failure().message(), "libcuda.so.1 has no cuMemAlloc_v2");
}

TEST_F(CudaDriverTest, SaysThatThereIsNoGpu) {
  cuda_.init_result = CUDA_ERROR_NO_DEVICE;
  EXPECT_EQ(failure().message(),
            "the NVIDIA driver does not start: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is "
            "detected");
}

TEST_F(CudaDriverTest, ErrorsThatEndTheProcessAreALostDevice) {
  const CudaDriver opened = driver();
  EXPECT_TRUE(opened.status(CUDA_SUCCESS, "x").ok());
  EXPECT_EQ(opened.status(CUDA_ERROR_ILLEGAL_ADDRESS, "x").code(), StatusCode::device_lost);
  EXPECT_EQ(opened.status(CUDA_ERROR_ASSERT, "x").code(), StatusCode::device_lost);
  for (const CUresult machine : {CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE,
                                 CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_CONTAINED}) {
    EXPECT_EQ(opened.status(machine, "x").code(), StatusCode::environment) << machine;
  }
  const Status plain = opened.status(CUDA_ERROR_INVALID_VALUE, "launching");
  EXPECT_EQ(plain.code(), StatusCode::launch_failed);
  EXPECT_EQ(plain.message(), "launching: CUDA_ERROR_OTHER: the text");
}

// Of these cuda.h says that the process must be terminated and relaunched. The first nine are a
// kernel's doing, and its variant's; the others the machine's or a neighbour's. With either the
// parent starts a new worker.
TEST_F(CudaDriverTest, EveryErrorThatEndsTheProcessMakesANewWorker) {
  const CudaDriver opened = driver();
  for (const CUresult kernels :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_TENSOR_MEMORY_LEAK}) {
    EXPECT_EQ(opened.status(kernels, "x").code(), StatusCode::device_lost) << kernels;
  }
  for (const CUresult machines :
       {CUDA_ERROR_CONTAINED, CUDA_ERROR_EXTERNAL_DEVICE, CUDA_ERROR_MPS_CLIENT_TERMINATED}) {
    EXPECT_EQ(opened.status(machines, "x").code(), StatusCode::environment) << machines;
  }
}

TEST_F(CudaDriverTest, DescribesEveryGpu) {
  cuda_.device_count = 2;
  const auto devices = list_cuda_devices(driver());
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->devices.size(), 2U);
  EXPECT_TRUE(devices->failures.empty());
  const DeviceInfo& info = devices->devices.at(1);
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_EQ(info.id, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(info.name, "NVIDIA H200");
  EXPECT_EQ(info.mig_profile, "");
  EXPECT_EQ(info.index, 1);
  EXPECT_EQ(info.arch, "sm_90");
  EXPECT_EQ(info.limits.compute_capability, 90);
  EXPECT_EQ(info.limits.sm_count, 132);
  EXPECT_EQ(info.limits.max_shared_bytes, 232448);
  EXPECT_EQ(info.limits.l2_bytes, 62914560);
  EXPECT_EQ(info.memory_bytes, std::int64_t{140} << 30);
  EXPECT_THAT(info.driver, HasSubstr("CUDA 13.0"));
  EXPECT_EQ(info.pci_address, "0000:9b:00.0");
}

TEST_F(CudaDriverTest, AMigInstanceIsProductAndProfile) {
  cuda_.device_name = "NVIDIA H200 MIG 1g.18gb";
  const auto devices = list_cuda_devices(driver());
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices->devices.front().name, "NVIDIA H200");
  EXPECT_EQ(devices->devices.front().mig_profile, "1g.18gb");
}

TEST_F(CudaDriverTest, AGpuThatCannotBeDescribedHidesNoOther) {
  cuda_.device_count = 3;
  cuda_.failing_device = 1;
  const auto devices = list_cuda_devices(driver());
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->devices.size(), 2U);
  EXPECT_EQ(devices->devices.front().index, 0);
  EXPECT_EQ(devices->devices.back().index, 2);
  ASSERT_EQ(devices->failures.size(), 1U);
  EXPECT_THAT(devices->failures.front(), HasSubstr("GPU 1: reading a device's UUID: "));
}

TEST_F(CudaDriverTest, AFullGpuHasNoRoomForAContext) {
  cuda_.context_result = CUDA_ERROR_OUT_OF_MEMORY;
  const CudaDriver opened = driver();
  const Status status = open_cuda_device(opened, 0).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "NVIDIA H200 has no memory left for a context");
}

TEST_F(CudaDriverTest, AFullGpuHasNoRoomForABuffer) {
  const CudaDriver opened = driver();
  cuda_.free_memory = 1000;
  cuda_.total_memory = 2000;
  const auto device = open_cuda_device(opened, 0);
  ASSERT_TRUE(device.ok()) << device.status().message();
  const Status status = Buffer::allocate(**device, 4096).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "NVIDIA H200 has no room for 4096 bytes: 1000 of 2000 are free");
  EXPECT_TRUE(Buffer::allocate(**device, 512).ok());
  EXPECT_EQ(opened.free_bytes().value(), 488);
}

}  // namespace
}  // namespace mgtune
