// Device: runs kernels, on a CUDA GPU or on the `cpu` device, behind one interface. The tuner and
// the runtime launch only through it, so what was measured is what runs.
//
// Ownership: buffers, modules and kernels belong to their device and must be destroyed before it.
// Threads: load(), blocks_per_sm(), max_clusters() and set_thread_order() must not run
// concurrently; the caller must make sure of that. All other functions may run concurrently, so no
// thread waits for the stream of another one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "build/build.h"
#include "core/status.h"
#include "family/variant.h"

namespace mgtune {

enum class DeviceKind : std::uint8_t { cpu, cuda };

// The compute capability that the cpu device emulates: 8.0.
inline constexpr std::int64_t kCpuComputeCapability = 80;

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string id;    // UUID "GPU-…", or "cpu"
  std::string name;  // "NVIDIA H200", or "cpu"
  int index = -1;    // CUDA's ordinal; -1 for cpu
  std::string arch;  // the architecture of builds: "sm_90", "cpu"
  DeviceLimits limits;
  std::int64_t memory_bytes = 0;  // 0 for cpu, where it is not part of the identity
  std::string mig_profile;        // "" unless a MIG instance
  std::string driver;             // version text; "" for cpu
  std::string pci_address;        // "0000:1b:00.0", as in /sys/bus/pci/devices; "": not known
};

// cudaStream_t / CUstream; null is the device's default stream. The cpu device ignores it.
using Stream = void*;

// One kernel of a loaded module.
class Kernel {
 public:
  Kernel(std::string name, std::vector<std::size_t> parameter_bytes)
      : name_(std::move(name)), parameter_bytes_(std::move(parameter_bytes)) {}
  virtual ~Kernel() = default;
  const std::string& name() const { return name_; }
  const std::vector<std::size_t>& parameter_bytes() const { return parameter_bytes_; }

 private:
  std::string name_;
  std::vector<std::size_t> parameter_bytes_;
};

// A variable of a loaded module: where it lies in the device's memory.
struct DeviceVariable {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  // By the name expression of BuildKernel::name; not_found otherwise.
  Result<const Kernel*> kernel(const std::string& name) const {
    for (const std::unique_ptr<Kernel>& kernel : kernels_) {
      if (kernel->name() == name) return kernel.get();
    }
    return not_found("the build has no kernel " + name);
  }
  // By the name in BuildVariable::name; not_found otherwise.
  Result<DeviceVariable> variable(const std::string& name) const {
    const auto found = variables_.find(name);
    if (found != variables_.end()) return found->second;
    return not_found("the build has no variable " + name);
  }

 protected:
  std::vector<std::unique_ptr<Kernel>> kernels_;     // added while the module is loaded
  std::map<std::string, DeviceVariable> variables_;  // likewise
};

struct KernelLaunch {
  const Kernel* kernel = nullptr;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  bool pdl = false;
  void* const* args = nullptr;  // a pointer to each argument's value, as for cuLaunchKernel
  Stream stream = nullptr;
};

// The order in which the cpu device runs the threads of a block between two barriers. If the result
// of a kernel depends on it, the kernel lacks a barrier.
struct ThreadOrder {
  enum class Kind : std::uint8_t { forward, reversed, shuffled };
  Kind kind = Kind::forward;
  std::uint64_t seed = 0;  // of shuffled
};

inline constexpr std::size_t kMaxTensorMapRank = 5;

// Describes a tensor for the copy engine of GPUs from sm_90 on (cuTensorMapEncodeTiled). A kernel
// takes the result as a `const __grid_constant__ CUtensorMap` of 128 bytes.
//
// The first `rank` elements of each array count, the fastest dimension first. `stride_bytes` leaves
// out the fastest dimension.
struct TensorMapRequest {
  void* memory = nullptr;  // aligned to 16 bytes
  DType dtype = DType::f32;
  std::uint32_t rank = 0;
  std::array<std::uint64_t, kMaxTensorMapRank> extent{};  // elements
  std::array<std::uint64_t, kMaxTensorMapRank - 1> stride_bytes{};
  std::array<std::uint32_t, kMaxTensorMapRank> box{};  // elements that one copy moves
  TensorMap::Swizzle swizzle = TensorMap::Swizzle::none;
  TensorMap::L2 l2 = TensorMap::L2::none;
};

// The result of the driver for a request. Opaque.
struct alignas(64) EncodedTensorMap {
  std::array<std::byte, 128> bytes;
};

// What a buffer, or a part of it, holds: for the messages of the cpu device.
struct MemoryLabel {
  std::string name;               // "x"
  std::size_t element_bytes = 1;  // messages count in elements of this size
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // The memory is not initialized. environment if there is not enough. On the cpu device each
  // allocation ends at an inaccessible page (or is exact under AddressSanitizer).
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) = 0;
  virtual Status copy_to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual Status copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual Status fill_bytes(void* device, unsigned char value, std::size_t bytes,
                            Stream stream) = 0;
  // Copies from memory that the device can read to memory of the device, in the order of the
  // stream.
  virtual Status copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream) = 0;

  virtual Result<std::unique_ptr<Module>> load(const Build& build) = 0;

  // Values of the build.* names of expressions.
  virtual Result<std::int64_t> blocks_per_sm(const Kernel& kernel, std::uint32_t threads,
                                             std::uint32_t shared_bytes) = 0;
  virtual Result<std::int64_t> max_clusters(const KernelLaunch& launch) = 0;

  // Asynchronous on a GPU. On the cpu device the kernel has ended when this returns. If a kernel
  // fails there (deadlock, failed assert), the result is launch_failed, naming block, thread and
  // line. A bad address ends the process on the cpu device, with the same facts on standard error;
  // on a GPU the result is device_lost.
  virtual Status launch(const KernelLaunch& launch) = 0;
  virtual Status synchronize(Stream stream) = 0;

  // invalid_argument if the copy engine cannot serve the request (a stride that is not a multiple
  // of 16 bytes, a box of more than 256 elements; the driver does not say which). unsupported if
  // there is no such engine.
  virtual Status encode_tensor_map(const TensorMapRequest& request,
                                   EncodedTensorMap& map) const = 0;

  // Only the cpu device has this; on other devices it is unsupported.
  virtual Status set_thread_order(ThreadOrder order) = 0;

  // The following three are for the messages and the memory checks of the cpu device. Other devices
  // ignore them.

  // Names `bytes` bytes of a buffer. From then on a kernel of arch "cpu-race" may access only these
  // bytes of the buffer. A buffer has one label; a second one replaces it.
  virtual void label_memory(void* /*memory*/, std::size_t /*bytes*/, const MemoryLabel& /*label*/) {
  }
  // Says that nothing has been written to these bytes of a labelled buffer yet. All of them hold
  // the same value.
  virtual void mark_unwritten(void* /*memory*/, std::size_t /*bytes*/) {}
  // Whether kernels of arch "cpu-race" fail if they read memory that nothing has written. At first
  // they do not.
  virtual void refuse_unwritten_reads(bool /*refused*/) {}
};

// Memory of a device. The destructor frees it. Move-only; the device must outlive it.
class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> allocate(Device& device, std::size_t bytes) {
    MGTUNE_ASSIGN(void* const memory, device.allocate(bytes));
    Buffer buffer;
    buffer.data_ = {memory, Free{&device}};
    buffer.bytes_ = bytes;
    return buffer;
  }

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    Device* device;
    void operator()(void* memory) const { device->free(memory); }
  };

  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace mgtune
