// FakeDevice: a device whose memory is the host's and whose kernels do nothing but be counted, so
// that everything up to the launch can be tested without a compiler and without emulation.
// FakeCompiler: a build for any kernels, at once; it fails where a kernel's name has `broken`.

#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "compiler/compiler.h"
#include "core/sha256.h"
#include "device/device.h"
#include "tests/helpers/fakes/memory_device.h"

namespace mgtune {

class FakeModule : public Module {
 public:
  FakeModule(std::vector<std::unique_ptr<Kernel>> kernels,
             std::map<std::string, DeviceVariable> variables, std::atomic<std::int64_t>& alive)
      : alive_(alive) {
    kernels_ = std::move(kernels);
    variables_ = std::move(variables);
    ++alive_;
  }
  FakeModule(const FakeModule&) = delete;
  FakeModule& operator=(const FakeModule&) = delete;
  ~FakeModule() override { --alive_; }

 private:
  std::atomic<std::int64_t>& alive_;
};

inline DeviceInfo fake_h200() {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.id = "GPU-fake";
  info.name = "Fake H200";
  info.arch = "sm_90";
  info.limits = {90, 132, 232448, 62914560};
  info.memory_bytes = std::int64_t{141} << 30;
  return info;
}

class FakeDevice : public HostMemoryDevice {
 public:
  // What tests set. `parameters`: sizes by the kernel's name without its template arguments.
  DeviceInfo device_info = fake_h200();
  std::map<std::string, std::vector<std::size_t>> parameters;
  std::map<std::string, DeviceVariable> variables;  // of every module
  std::function<Status(const KernelLaunch&)> on_launch;
  std::function<void(void*, std::size_t)> on_fill;
  std::function<Status(const TensorMapRequest&, EncodedTensorMap&)> on_tensor_map;
  std::function<Status(const Build&)> on_load;
  std::int64_t resident_blocks = 4, resident_clusters = 16;

  // What tests read.
  std::atomic<std::int64_t> launches = 0, loads = 0, modules_alive = 0;
  std::atomic<int> blocks_questions = 0;  // calls of blocks_per_sm()

  const DeviceInfo& info() const override { return device_info; }
  Result<void*> allocate(std::size_t bytes) override {
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void free(void* memory) override { std::free(memory); }
  Status fill_bytes(void* device, unsigned char value, std::size_t bytes, Stream stream) override {
    if (on_fill) on_fill(device, bytes);
    return HostMemoryDevice::fill_bytes(device, value, bytes, stream);
  }
  Result<std::unique_ptr<Module>> load(const Build& build) override {
    ++loads;
    if (on_load) MGTUNE_TRY(on_load(build));
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const BuildKernel& kernel : build.kernels) {
      const std::string name = kernel.name.substr(0, kernel.name.find('<'));
      kernels.push_back(std::make_unique<Kernel>(kernel.name, parameters[name]));
    }
    return std::unique_ptr<Module>(
        std::make_unique<FakeModule>(std::move(kernels), variables, modules_alive));
  }
  Result<std::int64_t> blocks_per_sm(const Kernel&, std::uint32_t threads, std::uint32_t) override {
    ++blocks_questions;
    return threads > 0 ? resident_blocks : 0;
  }
  Result<std::int64_t> max_clusters(const KernelLaunch&) override { return resident_clusters; }
  Status launch(const KernelLaunch& launch) override {
    launches.fetch_add(1, std::memory_order_relaxed);
    return on_launch ? on_launch(launch) : Status();
  }
  Status encode_tensor_map(const TensorMapRequest& request, EncodedTensorMap& map) const override {
    return on_tensor_map ? on_tensor_map(request, map) : Status();
  }
  Status set_thread_order(ThreadOrder) override { return unsupported("no threads here"); }
};

class FakeCompiler : public Compiler {
 public:
  explicit FakeCompiler(std::string broken) : broken_(std::move(broken)) {}
  const std::string& identity() const override { return identity_; }
  Result<Build> compile(const BuildRequest& request) override {
    Build build;
    build.arch = request.arch;
    for (const std::string& name : request.kernels) {
      if (!broken_.empty() && name.find(broken_) != std::string::npos) {
        return Status(StatusCode::compile_failed, "error: broken on purpose");
      }
      build.binary += name + ";";
      build.kernels.push_back({name, name});
    }
    for (const std::string& name : request.variables) build.variables.push_back({name, name});
    build.sha256 = sha256_hex(build.binary);
    return build;
  }

 private:
  std::string identity_ = "fake 1";
  std::string broken_;
};

// A builder without a cache.
inline Builder fake_builder(std::string broken = "") {
  return Builder(BuildCache(FileSystem::real(), ""),
                 [broken](const std::string&) -> Result<std::unique_ptr<Compiler>> {
                   return std::unique_ptr<Compiler>(std::make_unique<FakeCompiler>(broken));
                 });
}

}  // namespace mgtune
