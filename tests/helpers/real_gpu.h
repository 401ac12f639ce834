// RealGpu: the first GPU of this machine, and kernels compiled for it, for tests that need one.
// Where there is none a test says why on stdout and is skipped:
//
//   class MyTest : public RealGpuTest {};

#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"
#include "family/source_tree.h"

namespace mgtune {

class RealGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status missing = cuda_driver().status(); !missing.ok()) {
      std::cout << "SKIPPED, NOTHING WAS TESTED: this needs a GPU: " << missing.message()
                << std::endl;
      GTEST_SKIP() << missing.message();
    }
    Result<std::unique_ptr<Device>> opened = open_cuda_device(*cuda_driver(), 0);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device_ = std::move(*opened);
  }

  // The modules go before the device.
  void TearDown() override { modules_.clear(); }

  Device& device() { return *device_; }

  // A kernel of `source`, compiled for this GPU.
  const Kernel* kernel(const std::string& source, const std::string& name) {
    const SourceTree sources{"test", {{"test.cu", source}}};
    const std::string& arch = device_->info().arch;
    const auto compiler = make_nvrtc_compiler(arch);
    if (!compiler.ok()) return failed(compiler.status());
    const auto build = (*compiler)->compile({&sources, "test.cu", {name}, arch});
    if (!build.ok()) return failed(build.status());
    auto module = device_->load(*build);
    if (!module.ok()) return failed(module.status());
    modules_.push_back(std::move(*module));
    return modules_.back()->kernel(name).value();
  }

  // Every argument in the exact type of the kernel's parameter.
  template <class... Args>
  Status launch(KernelLaunch launch, const Args&... args) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
    launch.args = pointers;
    return device_->launch(launch);
  }

  template <class T>
  std::vector<T> download(const Buffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    const Status status = device_->copy_to_host(values.data(), buffer.data(), buffer.bytes());
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }

 private:
  static const Kernel* failed(const Status& status) {
    ADD_FAILURE() << status.message();
    return nullptr;
  }

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace mgtune
