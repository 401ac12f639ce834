// CpuModule: kernels of one source file, compiled for the cpu device and loaded there, for tests
// that launch a kernel by hand. DeviceTensor: a tensor in its memory, seen by the test as doubles.
// Header-only; each object belongs to one thread, tensors to a module that outlives them.

#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "device/registry.h"
#include "family/source_tree.h"
#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

class CpuModule {
 public:
  // `folder` is relative to the repository; `kernels` are name expressions of `source` in it.
  static Result<CpuModule> build(const std::string& folder, const std::string& source,
                                 std::vector<std::string> kernels) {
    MGTUNE_ASSIGN(const SourceTree sources,
                  read_source_tree(FileSystem::real(), source_path(folder)));
    return build(sources, source, std::move(kernels));
  }

  // Kernels of a source of references, with `problem` (reference_problems.h) in front of it.
  static Result<CpuModule> build_reference(const std::string& folder, const std::string& problem,
                                           std::vector<std::string> kernels,
                                           const std::string& source = "reference.cu") {
    MGTUNE_ASSIGN(SourceTree sources, read_source_tree(FileSystem::real(), source_path(folder)));
    sources.files[source].insert(0, problem);
    return build(sources, source, std::move(kernels));
  }

  static Result<CpuModule> build(const SourceTree& sources, const std::string& source,
                                 std::vector<std::string> kernels) {
    MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler, make_compiler("cpu"));
    MGTUNE_ASSIGN(const Build build,
                  compiler->compile({&sources, source, std::move(kernels), "cpu"}));
    CpuModule module;
    MGTUNE_ASSIGN(module.device_, open_device("cpu"));
    MGTUNE_ASSIGN(module.module_, module.device_->load(build));
    return module;
  }

  Device& device() const { return *device_; }

  // Every argument in the exact type of the kernel's parameter; pointers as void* or null.
  template <class... Args>
  Status launch(const std::string& kernel, std::uint32_t grid, std::uint32_t block,
                Args... args) const {
    return launch_with_shared(kernel, grid, block, 0, args...);
  }

  // `shared_bytes` of dynamic shared memory.
  template <class... Args>
  Status launch_with_shared(const std::string& kernel, std::uint32_t grid, std::uint32_t block,
                            std::uint32_t shared_bytes, Args... args) const {
    void* pointers[] = {&args...};
    return launch_with(kernel, grid, block, shared_bytes, pointers);
  }

  // The same; `args` as cuLaunchKernel takes them.
  Status launch_with(const std::string& kernel, std::uint32_t grid, std::uint32_t block,
                     std::uint32_t shared_bytes, void* const* args) const {
    return launch_with(kernel, std::array<std::uint32_t, 3>{grid, 1, 1}, block, shared_bytes, args);
  }
  Status launch_with(const std::string& kernel, std::array<std::uint32_t, 3> grid,
                     std::uint32_t block, std::uint32_t shared_bytes, void* const* args) const {
    KernelLaunch launch;
    MGTUNE_ASSIGN(launch.kernel, module_->kernel(kernel));
    launch.grid = grid;
    launch.block = {block, 1, 1};
    launch.shared_bytes = shared_bytes;
    launch.args = args;
    MGTUNE_TRY(device_->launch(launch));
    return device_->synchronize(nullptr);
  }

 private:
  CpuModule() = default;

  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;  // before its device goes
};

class DeviceTensor {
 public:
  // Rounds each value to `dtype`.
  static Result<DeviceTensor> upload(Device& device, DType dtype,
                                     const std::vector<double>& values) {
    DeviceTensor tensor(device, dtype, values.size());
    std::vector<unsigned char> bytes(tensor.bytes());
    for (std::size_t i = 0; i < values.size(); ++i) {
      put_element(bytes.data(), static_cast<std::int64_t>(i), dtype, values[i]);
    }
    MGTUNE_ASSIGN(tensor.buffer_, Buffer::allocate(device, bytes.size()));
    MGTUNE_TRY(device.copy_to_device(tensor.data(), bytes.data(), bytes.size()));
    return tensor;
  }

  // Every byte 0xff, which is a NaN in each floating dtype: an element never written shows.
  static Result<DeviceTensor> poisoned(Device& device, DType dtype, std::size_t count) {
    DeviceTensor tensor(device, dtype, count);
    MGTUNE_ASSIGN(tensor.buffer_, Buffer::allocate(device, tensor.bytes()));
    MGTUNE_TRY(tensor.poison());
    return tensor;
  }

  Status poison() { return device_->fill_bytes(data(), 0xff, bytes(), nullptr); }
  void* data() const { return buffer_.data(); }

  Result<std::vector<unsigned char>> download_bytes() const {
    std::vector<unsigned char> bytes(this->bytes());
    MGTUNE_TRY(device_->copy_to_host(bytes.data(), data(), bytes.size()));
    return bytes;
  }

  Result<std::vector<double>> download() const {
    MGTUNE_ASSIGN(const std::vector<unsigned char> bytes, download_bytes());
    std::vector<double> values(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      values[i] = element_as_double(bytes.data(), static_cast<std::int64_t>(i), dtype_);
    }
    return values;
  }

 private:
  DeviceTensor(Device& device, DType dtype, std::size_t count)
      : device_(&device), dtype_(dtype), count_(count) {}
  std::size_t bytes() const { return count_ * static_cast<std::size_t>(size_in_bytes(dtype_)); }

  Device* device_;
  DType dtype_;
  std::size_t count_;
  Buffer buffer_;
};

}  // namespace mgtune
