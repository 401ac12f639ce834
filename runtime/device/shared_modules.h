// SharedModules: the modules that a device has loaded for the plans of a context. Plans that need
// the same build share one module, so its code is on the GPU and in the instruction caches once. It
// is unloaded when the last plan that uses it is destroyed. Kernels may share a module because none
// keeps state in its module (kernels/README.md requires that); state between launches is in
// workspaces. If somebody holds a module already, it is returned without asking the device. If the
// device is lost, the launch will report that.
//
// Ownership: modules belong to those who loaded them. They go before this, and this goes before the
// device. Threads: any number may load modules and let go of them at once, and a build is loaded
// once. Both take device_mutex(), as every other use of the device has to that needs external order
// (device.h).

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "build/build.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

class SharedModules {
 public:
  explicit SharedModules(Device& device) : device_(device) {}
  SharedModules(const SharedModules&) = delete;
  SharedModules& operator=(const SharedModules&) = delete;

  Device& device() const { return device_; }

  // Orders the uses of the device by several threads. Its owner must not let go of a module.
  std::mutex& device_mutex() { return mutex_; }

  // The module of the build, loaded unless somebody holds it. Failures are the device's; they are
  // not kept.
  Result<std::shared_ptr<const Module>> load(const Build& build);

 private:
  Device& device_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Module>> modules_;  // by key_of()
};

}  // namespace mgtune
