// CpuDevice: the device that needs no GPU. Kernels are host code. README.md in this folder says how
// they run and which faults are found. The limits are those of a small device of compute capability
// 8.0. They are the same on every machine, so that a space is the same everywhere.
//
// Threads: as for Device. Launches of one object run one after the other. Environment:
// MGTUNE_CPU_DEADLINE_S is the number of seconds after which a launch counts as endless (20).

#pragma once

#include <memory>
#include <mutex>

#include "device/device.h"
#include "device_memory.h"
#include "system/temporary_folder.h"
#include "worker_pool.h"

namespace mgtune {

class CpuDevice : public Device {
 public:
  static DeviceInfo describe();
  static Result<std::unique_ptr<Device>> open();

  const DeviceInfo& info() const override { return info_; }
  Result<void*> allocate(std::size_t bytes) override;
  void free(void* memory) override;
  Status copy_to_device(void* device, const void* host, std::size_t bytes) override;
  Status copy_to_host(void* host, const void* device, std::size_t bytes) override;
  Status fill_bytes(void* device, unsigned char value, std::size_t bytes, Stream stream) override;
  Result<std::unique_ptr<Module>> load(const Build& build) override;
  Result<std::int64_t> blocks_per_sm(const Kernel& kernel, std::uint32_t threads,
                                     std::uint32_t shared_bytes) override;
  Result<std::int64_t> max_clusters(const KernelLaunch& launch) override;
  Status launch(const KernelLaunch& launch) override;
  Status synchronize(Stream stream) override;
  Status encode_tensor_map(const TensorMapRequest&, EncodedTensorMap&) const override {
    return unsupported("the cpu device has no tensor maps");
  }
  Status set_thread_order(ThreadOrder order) override;

 private:
  CpuDevice(TemporaryFolder folder, std::size_t workers, double deadline_s);
  Status check(const KernelLaunch& launch) const;

  DeviceInfo info_ = describe();
  TemporaryFolder folder_;  // for the loaded libraries
  double deadline_s_;
  std::mutex mutex_;  // guards order_ and the pool
  ThreadOrder order_;
  WorkerPool pool_;
};

}  // namespace mgtune
