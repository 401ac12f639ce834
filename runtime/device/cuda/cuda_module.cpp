// load_cuda_module(): the cubins of a build, each loaded as a CUlibrary, and their kernels.

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "build/kernel_binaries.h"
#include "device/cuda/cuda_device.h"

namespace mgtune {
namespace {

constexpr std::int64_t kSharedWithoutOptIn = 48 << 10;

std::vector<std::size_t> parameters_of(const CudaDriver& driver, CUkernel kernel) {
  std::vector<std::size_t> parameters;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  // The driver does not report the number: the first index past the end is an error.
  while (driver.cuKernelGetParamInfo(kernel, parameters.size(), &offset, &bytes) == CUDA_SUCCESS) {
    parameters.push_back(bytes);
  }
  return parameters;
}

class CudaKernel final : public Kernel {
 public:
  CudaKernel(std::string name, CUkernel handle, std::vector<std::size_t> parameter_bytes)
      : Kernel(std::move(name), std::move(parameter_bytes)), handle_(handle) {}
  CUkernel handle() const { return handle_; }

 private:
  CUkernel handle_;
};

class CudaModule final : public Module {
 public:
  explicit CudaModule(const CudaDriver& driver) : driver_(driver) {}
  ~CudaModule() override {
    for (CUlibrary library : libraries_) driver_.cuLibraryUnload(library);
  }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  Status load(const std::string& cubin) {
    CUlibrary library = nullptr;
    MGTUNE_TRY(driver_.status(
        driver_.cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading a cubin"));
    libraries_.push_back(library);
    return {};
  }

  // Adds a kernel of the cubin that was loaded last.
  Status add_kernel(CUdevice device, const DeviceLimits& limits, const BuildKernel& kernel) {
    CUkernel handle = nullptr;
    MGTUNE_TRY(driver_.status(
        driver_.cuLibraryGetKernel(&handle, libraries_.back(), kernel.symbol.c_str()),
        "finding the kernel"));
    int static_shared = 0;
    MGTUNE_TRY(
        driver_.status(driver_.cuKernelGetAttribute(
                           &static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, handle, device),
                       "reading its shared memory"));
    const std::int64_t dynamic = limits.max_shared_bytes - static_shared;
    if (dynamic > kSharedWithoutOptIn) {
      MGTUNE_TRY(driver_.status(
          driver_.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(dynamic), handle, device),
          "opting in to more shared memory"));
    }
    if (limits.compute_capability >= 90) {
      MGTUNE_TRY(driver_.status(
          driver_.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                       handle, device),
          "allowing clusters of 16"));
    }
    // Drivers load a kernel at its first launch, which may be inside somebody's capture. So it is
    // loaded here.
    CUfunction function = nullptr;
    MGTUNE_TRY(
        driver_.status(driver_.cuKernelGetFunction(&function, handle), "loading the kernel"));
    MGTUNE_TRY(driver_.status(driver_.cuFuncLoad(function), "loading the kernel"));
    kernels_.push_back(
        std::make_unique<CudaKernel>(kernel.name, handle, parameters_of(driver_, handle)));
    return {};
  }

  Status add_variable(const BuildVariable& variable) {
    CUdeviceptr memory = 0;
    std::size_t bytes = 0;
    MGTUNE_TRY(driver_.status(
        driver_.cuLibraryGetGlobal(&memory, &bytes, libraries_.back(), variable.symbol.c_str()),
        "finding the variable"));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's type
    variables_[variable.name] = {reinterpret_cast<void*>(memory), bytes};
    return {};
  }

 private:
  const CudaDriver& driver_;
  std::vector<CUlibrary> libraries_;
};

}  // namespace

Result<std::unique_ptr<Module>> load_cuda_module(const CudaDriver& driver, CUdevice device,
                                                 const DeviceLimits& limits, const Build& build) {
  MGTUNE_ASSIGN(const std::vector<std::string> cubins, split_binaries(build.binary));
  if (cubins.size() != 1 && cubins.size() != build.kernels.size()) {
    return corrupt("the build has another number of kernels than of cubins");
  }
  if (cubins.empty()) return corrupt("the build has no cubin");
  auto module = std::make_unique<CudaModule>(driver);
  // If there is one cubin, it has all kernels and variables. If there are several, each has one
  // kernel.
  MGTUNE_TRY(module->load(cubins.front()));
  for (std::size_t i = 0; i < build.kernels.size(); ++i) {
    const BuildKernel& kernel = build.kernels[i];
    if (i > 0 && cubins.size() > 1) MGTUNE_TRY(module->load(cubins[i]));
    MGTUNE_TRY(module->add_kernel(device, limits, kernel).with_context(kernel.name));
  }
  for (const BuildVariable& variable : build.variables) {
    MGTUNE_TRY(module->add_variable(variable).with_context(variable.name));
  }
  return std::unique_ptr<Module>(std::move(module));
}

CUkernel cuda_kernel_handle(const Kernel& kernel) {
  return static_cast<const CudaKernel&>(kernel).handle();
}

}  // namespace mgtune
