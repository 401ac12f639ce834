// Loads a build for the cpu device: a shared library that the host compiler made. The module's
// destructor unloads the library and removes its file; its kernels must not run any more at that
// time. Immutable once loaded: any number of threads may read it.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "block.h"
#include "build/build.h"
#include "core/status.h"
#include "device/device.h"
#include "shared_memory.h"
#include "system/temporary_folder.h"

namespace mgtune {

// The library that this thread is loading registers its static shared arrays here.
SharedLayout* layout_being_loaded();

class CpuKernel : public Kernel {
 public:
  // `task`: the part that is the same for each launch of the kernel.
  CpuKernel(std::string name, const BlockTask& task, std::size_t static_shared_bytes);
  const BlockTask& task() const { return task_; }
  // The bytes of its static arrays, if known. The arrays of a module belong to all its kernels
  // together, so they are known only if the module has one kernel. Otherwise 0.
  std::size_t static_shared_bytes() const { return static_shared_bytes_; }

 private:
  BlockTask task_;
  std::size_t static_shared_bytes_;
};

// Writes the binary into `folder`, which must outlive the library, and loads it.
Result<std::unique_ptr<Module>> load_kernel_library(const Build& build,
                                                    const TemporaryFolder& folder);

}  // namespace mgtune
