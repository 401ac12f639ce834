// SharedModules: what a device has loaded for the plans of a context. Plans that need one build
// hold one module, so its code is on the GPU and in its instruction caches once; it is unloaded
// when the last of them goes. Kernels may share it because none keeps state in its module
// (kernels/README.md asks for that): what lasts from launch to launch is in workspaces. A module
// that somebody holds is handed out without a word to the device: that it is lost, the launch says.
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
