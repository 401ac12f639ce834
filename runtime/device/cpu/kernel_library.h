// KernelLibrary: a build for the cpu device, loaded: a shared library that the host compiler made.
// Unloaded, and its file removed, with the object; its kernels must not run any more by then.
// Immutable once loaded: any number of threads may read it.

#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "block.h"
#include "build/build.h"
#include "system/temporary_folder.h"
#include "core/status.h"
#include "device/device.h"
#include "shared_memory.h"

namespace mgtune {

// Where the library that this thread is loading registers its static shared arrays.
SharedLayout* layout_being_loaded();

class CpuKernel : public Kernel {
 public:
  // `task`: what is the same for each launch of the kernel.
  CpuKernel(std::string name, const BlockTask& task, std::size_t static_shared_bytes);
  const std::string& name() const override { return name_; }
  const std::vector<KernelParameter>& parameters() const override { return parameters_; }
  const BlockTask& task() const { return task_; }
  // Of its static arrays, where that is known: those of a module belong to its kernels together, so
  // a kernel's own are known when it is the only one. 0 otherwise.
  std::size_t static_shared_bytes() const { return static_shared_bytes_; }

 private:
  std::string name_;
  BlockTask task_;
  std::size_t static_shared_bytes_;
  std::vector<KernelParameter> parameters_;
};

class KernelLibrary : public Module {
 public:
  // Writes the binary into `folder`, which outlives the library, and loads it.
  static Result<std::unique_ptr<KernelLibrary>> load(const Build& build,
                                                     const TemporaryFolder& folder);
  ~KernelLibrary() override;
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  Result<const Kernel*> kernel(const std::string& name) const override;

 private:
  KernelLibrary() = default;
  Status open(const std::string& path);
  Status find_kernels(const Build& build);

  std::string path_;
  void* handle_ = nullptr;
  SharedLayout layout_;
  std::deque<CpuKernel> kernels_;  // whose addresses callers hold
};

}  // namespace mgtune
