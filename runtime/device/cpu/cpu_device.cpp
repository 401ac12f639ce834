// CpuDevice, the device that needs no GPU, and the entry point of its plugin (device/plugin.h).
// Kernels are host code. README.md in this folder says how they run and which faults are found. The
// limits are those of a small device of compute capability 8.0. They are the same on every machine,
// so that a space is the same everywhere.
//
// Threads: as for Device. Launches of one object run one after the other. Environment:
// MGTUNE_CPU_DEADLINE_S is the number of seconds after which a launch counts as endless (20).
// MGTUNE_CPU_COMPUTE_CAPABILITY is 80 (the default) or 90, for designs that only Hopper runs.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"
#include "device/device.h"
#include "device/plugin.h"
#include "device_memory.h"
#include "fault_handler.h"
#include "kernel_library.h"
#include "system/cores.h"
#include "system/temporary_folder.h"
#include "tensor_map.h"
#include "worker_pool.h"

namespace mgtune {
namespace {

constexpr double kDefaultDeadlineS = 20;
constexpr std::uint32_t kMaxGridYZ = 65535;
// Each worker maps up to 1024 stacks, two mappings each; a process has 65,530 by default.
constexpr unsigned kMaxWorkers = 16;

// Signal handlers use it, so it lives as long as the process.
DeviceMemory& memory_of_process() {
  static DeviceMemory memory;
  return memory;
}

Result<double> deadline_from_environment() {
  const char* const word = std::getenv("MGTUNE_CPU_DEADLINE_S");
  if (word == nullptr) return kDefaultDeadlineS;
  const auto seconds = parse_number<double>(word);
  if (seconds && *seconds > 0) return *seconds;
  return invalid_argument(
      fmt::format("MGTUNE_CPU_DEADLINE_S: expected a positive number of seconds, got '{}'", word));
}

Status refused(std::string why) { return Status(StatusCode::launch_failed, std::move(why)); }

Dim3 dim3(const std::array<std::uint32_t, 3>& extent) { return {extent[0], extent[1], extent[2]}; }

// The compute capabilities that the device can have, with their shared memory. The device has
// wrappers of all instructions of both, but no clusters, so 8.0 is the default.
constexpr DeviceLimits kAmpere{kCpuComputeCapability, 8, 166912, 4 << 20};
constexpr DeviceLimits kHopper{90, 8, 232448, 4 << 20};

Result<DeviceLimits> limits_from_environment() {
  const char* const word = std::getenv("MGTUNE_CPU_COMPUTE_CAPABILITY");
  if (word == nullptr || std::string_view(word) == "80") return kAmpere;
  if (std::string_view(word) == "90") return kHopper;
  return invalid_argument(
      fmt::format("MGTUNE_CPU_COMPUTE_CAPABILITY: expected 80 or 90, got '{}'", word));
}

// open_cpu_device() refuses a wrong word in the environment.
DeviceInfo describe() {
  DeviceInfo info;
  info.kind = DeviceKind::cpu;
  info.id = info.name = info.arch = "cpu";
  const Result<DeviceLimits> limits = limits_from_environment();
  info.limits = limits.ok() ? *limits : kAmpere;
  return info;
}

class CpuDevice final : public Device {
 public:
  CpuDevice(TemporaryFolder folder, std::size_t workers, double deadline_s)
      : folder_(std::move(folder)), deadline_s_(deadline_s), pool_(workers) {}

  const DeviceInfo& info() const override { return info_; }

  Result<void*> allocate(std::size_t bytes) override { return memory_of_process().allocate(bytes); }

  void free(void* memory) override { memory_of_process().free(memory); }

  Status copy_to_device(void* device, const void* host, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
    memory_of_process().mark_written(device, bytes);
    return Status();
  }

  Status copy_to_host(void* host, const void* device, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    return Status();
  }

  Status fill_bytes(void* device, unsigned char value, std::size_t bytes, Stream) override {
    if (bytes > 0) std::memset(device, value, bytes);
    memory_of_process().mark_written(device, bytes);
    return Status();
  }

  Status copy_on_device(void* to, const void* from, std::size_t bytes, Stream) override {
    return copy_to_device(to, from, bytes);
  }

  Result<std::unique_ptr<Module>> load(const Build& build) override {
    if (build.arch != "cpu" && build.arch != "cpu-race") {
      return unsupported("a build for " + build.arch + " does not run on the cpu device");
    }
#if defined(__SANITIZE_THREAD__)
    if (build.arch == "cpu-race") {
      return unsupported("the race checker is not part of a build with ThreadSanitizer");
    }
#endif
    return load_kernel_library(build, folder_);
  }

  Result<std::int64_t> blocks_per_sm(const Kernel&, std::uint32_t, std::uint32_t) override {
    return std::int64_t{1};
  }

  Result<std::int64_t> max_clusters(const KernelLaunch&) override { return std::int64_t{0}; }

  Status launch(const KernelLaunch& launch) override {
    if (launch.kernel == nullptr) return internal_error("a launch without a kernel");
    MGTUNE_TRY(check(launch));
    BlockTask task = static_cast<const CpuKernel&>(*launch.kernel).task();
    task.args = launch.args;
    task.grid = dim3(launch.grid);
    task.block = dim3(launch.block);
    task.dynamic_bytes = launch.shared_bytes;
    task.deadline_s = deadline_s_;
    const std::lock_guard<std::mutex> lock(mutex_);
    task.order = order_;
    std::vector<WatchedBuffer> buffers;
    if (task.check_accesses) {
      buffers = memory_of_process().watched();
      task.buffers = buffers;
      task.refuse_unwritten_reads = refuse_unwritten_reads_;
    }
    return pool_.run(task);
  }

  Status synchronize(Stream) override { return Status(); }

  Status encode_tensor_map(const TensorMapRequest& request, EncodedTensorMap& map) const override {
    return encode_cpu_tensor_map(request, map);
  }

  Status set_thread_order(ThreadOrder order) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    order_ = order;
    return Status();
  }

  void label_memory(void* memory, std::size_t bytes, const MemoryLabel& label) override {
    memory_of_process().label(memory, bytes, label);
  }

  void mark_unwritten(void* memory, std::size_t bytes) override {
    memory_of_process().mark_unwritten(memory, bytes);
  }

  void refuse_unwritten_reads(bool refused) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    refuse_unwritten_reads_ = refused;
  }

 private:
  Status check(const KernelLaunch& launch) const {
    const Dim3 grid = dim3(launch.grid), block = dim3(launch.block);
    if (count(dim3(launch.cluster)) != 1) return unsupported("the cpu device has no clusters");
    if (launch.cooperative) return unsupported("the cpu device has no cooperative launches");
    if (count(block) == 0 || count(block) > kMaxThreads || block.z > 64) {
      return refused(fmt::format("a block of {} has not 1 to {} threads (at most 64 in z)",
                                 to_string(block), kMaxThreads));
    }
    if (count(grid) == 0 || grid.x > 0x7fffffffU || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) {
      return refused(fmt::format("a grid of {} is empty or over the limits (2147483647,{},{})",
                                 to_string(grid), kMaxGridYZ, kMaxGridYZ));
    }
    const std::size_t static_bytes =
        static_cast<const CpuKernel&>(*launch.kernel).static_shared_bytes();
    if (static_bytes + launch.shared_bytes > std::size_t(info_.limits.max_shared_bytes)) {
      return refused(
          fmt::format("{} bytes of dynamic and {} of static shared memory; the cpu device has {}",
                      launch.shared_bytes, static_bytes, info_.limits.max_shared_bytes));
    }
    if (launch.args == nullptr && !launch.kernel->parameter_bytes().empty()) {
      return refused(fmt::format("no arguments for the {} parameters of {}",
                                 launch.kernel->parameter_bytes().size(), launch.kernel->name()));
    }
    return Status();
  }

  DeviceInfo info_ = describe();
  TemporaryFolder folder_;  // for the loaded libraries
  double deadline_s_;
  std::mutex mutex_;  // guards order_, refuse_unwritten_reads_ and the pool
  ThreadOrder order_;
  bool refuse_unwritten_reads_ = false;
  WorkerPool pool_;
};

Status open_cpu_device(std::unique_ptr<Device>* device) {
  MGTUNE_ASSIGN(const double deadline_s, deadline_from_environment());
  MGTUNE_TRY(limits_from_environment().status());
  MGTUNE_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
  static std::once_flag installed;
  std::call_once(installed, [] { install_fault_handlers(memory_of_process()); });
  const auto workers = static_cast<unsigned>(std::min<std::size_t>(own_core_count(), kMaxWorkers));
  *device = std::make_unique<CpuDevice>(std::move(folder), workers, deadline_s);
  return Status();
}

constexpr DevicePlugin kPlugin{MGTUNE_BUILD_ID, &describe, &open_cpu_device};

}  // namespace
}  // namespace mgtune

extern "C" __attribute__((visibility("default"))) const mgtune::DevicePlugin*
mgtune_device_plugin() {
  return &mgtune::kPlugin;
}
