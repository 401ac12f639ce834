// KernelText: kernels that a test writes out as text, built for the cpu device and loaded there.
// HostArray: memory of that device, which the test reads and writes directly (it is host memory).
// Header-only; for the thread that made them, and not beyond their device.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "device/device.h"
#include "device/registry.h"
#include "family/source_tree.h"

namespace mgtune {

inline Result<Build> build_kernel_text(const std::string& text, std::vector<std::string> kernels,
                                       const std::string& arch = "cpu") {
  SourceTree sources;
  sources.folder = "kernels/test";
  sources.files["test.cu"] = text;
  MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler, make_compiler(arch));
  return compiler->compile({&sources, "test.cu", std::move(kernels), arch});
}

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{32, 1, 1};
  std::uint32_t shared_bytes = 0;
};

class KernelText {
 public:
  static Result<KernelText> build(const std::string& text, std::vector<std::string> kernels,
                                  const std::string& arch = "cpu") {
    KernelText built;
    MGTUNE_ASSIGN(const Build build, build_kernel_text(text, std::move(kernels), arch));
    MGTUNE_ASSIGN(built.device_, open_device("cpu"));
    MGTUNE_ASSIGN(built.module_, built.device_->load(build));
    return built;
  }

  Device& device() const { return *device_; }
  const Module& module() const { return *module_; }

  // Every argument in the exact type of the kernel's parameter.
  template <class... Args>
  Status launch(const std::string& kernel, const LaunchShape& shape, Args... args) const {
    void* pointers[] = {&args..., nullptr};
    KernelLaunch launch;
    MGTUNE_ASSIGN(launch.kernel, module_->kernel(kernel));
    launch.grid = shape.grid;
    launch.block = shape.block;
    launch.shared_bytes = shape.shared_bytes;
    launch.args = pointers;
    return device_->launch(launch);
  }

 private:
  KernelText() = default;

  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;  // before its device goes
};

template <class T>
class HostArray {
 public:
  HostArray(Device& device, std::size_t count)
      : buffer_(Buffer::allocate(device, count * sizeof(T)).value()), count_(count) {}

  T* data() const { return static_cast<T*>(buffer_.data()); }
  T& operator[](std::size_t i) const { return data()[i]; }
  std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  Buffer buffer_;
  std::size_t count_;
};

// What the three kinds of thread order stand for in tests; shuffled with several seeds.
inline std::vector<ThreadOrder> thread_orders() {
  std::vector<ThreadOrder> orders = {{ThreadOrder::Kind::forward, 0},
                                     {ThreadOrder::Kind::reversed, 0}};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    orders.push_back({ThreadOrder::Kind::shuffled, seed});
  }
  return orders;
}

}  // namespace mgtune
