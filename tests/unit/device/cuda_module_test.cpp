// Which libraries of the driver a build becomes, and which kernel is looked for in which of them.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "build/kernel_binaries.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_driver.h"
#include "tests/helpers/fakes/fake_cuda.h"
#include "tests/helpers/fakes/fake_loader.h"

namespace mgtune {
namespace {

// A library's handle is its number, from 1 on.
std::vector<std::string> loaded_cubins;  // "" once it is unloaded
std::vector<std::string> kernels_found;  // "1 symbol": in which library

CUresult load_library(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                      CUlibraryOption*, void**, unsigned) {
  const std::string cubin = static_cast<const char*>(code);
  if (cubin == "damaged") return CUDA_ERROR_INVALID_IMAGE;
  loaded_cubins.push_back(cubin);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's type
  *library = reinterpret_cast<CUlibrary>(loaded_cubins.size());
  return CUDA_SUCCESS;
}

CUresult unload_library(CUlibrary library) {
  loaded_cubins.at(reinterpret_cast<std::uintptr_t>(library) - 1).clear();
  return CUDA_SUCCESS;
}

CUresult find_kernel(CUkernel* kernel, CUlibrary library, const char* symbol) {
  kernels_found.push_back(std::to_string(reinterpret_cast<std::uintptr_t>(library)) + " " + symbol);
  *kernel = reinterpret_cast<CUkernel>(library);
  return CUDA_SUCCESS;
}

class CudaModuleTest : public testing::Test {
 protected:
  CudaModuleTest() {
    loaded_cubins.clear();
    kernels_found.clear();
    loader_.libraries["libcuda.so.1"] = cuda_.symbols();
    driver_ = open_cuda_driver(loader_).value();
    driver_.cuLibraryLoadData = load_library;
    driver_.cuLibraryUnload = unload_library;
    driver_.cuLibraryGetKernel = find_kernel;
    driver_.cuKernelGetAttribute = [](int* value, CUfunction_attribute, CUkernel, CUdevice) {
      *value = 0;
      return CUDA_SUCCESS;
    };
    driver_.cuKernelSetAttribute = [](CUfunction_attribute, int, CUkernel, CUdevice) {
      return CUDA_SUCCESS;
    };
    driver_.cuKernelGetFunction = [](CUfunction*, CUkernel) { return CUDA_SUCCESS; };
    driver_.cuFuncLoad = [](CUfunction) { return CUDA_SUCCESS; };
    driver_.cuKernelGetParamInfo = [](CUkernel, std::size_t, std::size_t*, std::size_t*) {
      return CUDA_ERROR_INVALID_VALUE;
    };
  }

  Result<std::unique_ptr<Module>> load(std::string binary) {
    Build build;
    build.binary = std::move(binary);
    build.kernels = {{"main<1>", "main_1"}, {"sum<1>", "sum_1"}};
    return load_cuda_module(driver_, 0, {90, 132, 232448, 62914560}, build);
  }

  FakeCuda cuda_;
  FakeLoader loader_;
  CudaDriver driver_;
};

TEST_F(CudaModuleTest, KernelsOfOneCubinAreFoundInIt) {
  const auto module = load("both");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(loaded_cubins, std::vector<std::string>{"both"});
  EXPECT_EQ(kernels_found, (std::vector<std::string>{"1 main_1", "1 sum_1"}));
}

TEST_F(CudaModuleTest, EachKernelIsFoundInItsOwnCubin) {
  {
    const auto module = load(join_binaries({"first", "second"}));
    ASSERT_TRUE(module.ok()) << module.status().message();
    EXPECT_EQ(loaded_cubins, (std::vector<std::string>{"first", "second"}));
    EXPECT_EQ(kernels_found, (std::vector<std::string>{"1 main_1", "2 sum_1"}));
    EXPECT_TRUE((*module)->kernel("sum<1>").ok());
  }
  EXPECT_EQ(loaded_cubins, (std::vector<std::string>{"", ""})) << "both are unloaded";
}

TEST_F(CudaModuleTest, ACubinThatDoesNotLoadLeavesNoneBehind) {
  EXPECT_FALSE(load(join_binaries({"first", "damaged"})).ok());
  EXPECT_EQ(loaded_cubins, std::vector<std::string>{""});
}

TEST_F(CudaModuleTest, AListThatDoesNotFitTheKernelsIsDamaged) {
  EXPECT_EQ(load(join_binaries({"1", "2", "3"})).status().code(), StatusCode::corrupt);
  EXPECT_EQ(load("mgtune kernels 2\n1\n").status().code(), StatusCode::corrupt);
  EXPECT_TRUE(loaded_cubins.empty());
}

}  // namespace
}  // namespace mgtune
