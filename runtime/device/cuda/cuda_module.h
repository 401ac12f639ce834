// CudaModule: a cubin loaded as a CUlibrary, and its kernels.

#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "build/build.h"
#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace mgtune {

class CudaKernel final : public Kernel {
 public:
  CudaKernel(std::string name, CUkernel handle, std::vector<KernelParameter> parameters)
      : name_(std::move(name)), handle_(handle), parameters_(std::move(parameters)) {}

  const std::string& name() const override { return name_; }
  const std::vector<KernelParameter>& parameters() const override { return parameters_; }
  CUkernel handle() const { return handle_; }

 private:
  std::string name_;
  CUkernel handle_;
  std::vector<KernelParameter> parameters_;
};

class CudaModule final : public Module {
 public:
  // Every kernel may use all the shared memory of a block, and clusters above the portable size.
  static Result<std::unique_ptr<Module>> load(const CudaDriver& driver, CUdevice device,
                                              const DeviceLimits& limits, const Build& build);
  ~CudaModule() override { driver_.cuLibraryUnload(library_); }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  Result<const Kernel*> kernel(const std::string& name) const override;

 private:
  CudaModule(const CudaDriver& driver, CUlibrary library) : driver_(driver), library_(library) {}
  Status add_kernel(CUdevice device, const DeviceLimits& limits, const BuildKernel& kernel);

  const CudaDriver& driver_;
  CUlibrary library_;
  std::vector<std::unique_ptr<CudaKernel>> kernels_;
};

}  // namespace mgtune
