// SharedModules: the modules that a device has loaded for the plans of a context. Plans that need
// the same build share one module, so its code is on the GPU and in the instruction caches once. It
// is unloaded when the last plan that uses it is destroyed. Kernels may share a module because none
// keeps state in its module (kernels/README.md requires that); state between launches is in
// workspaces. If somebody holds a module already, it is returned without asking the device. If the
// device is lost, the launch will report that.
//
// Ownership: modules belong to those who loaded them. They and this object must be destroyed before
// the device. Threads: any number of threads may load at the same time, and a build is loaded once.
// Releasing a module needs the same order with other uses of the device as Device::load() does.

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

  // Returns the module of the build. It is loaded unless somebody holds it. Failures are those of
  // the device; they are not kept.
  Result<std::shared_ptr<const Module>> load(const Build& build);

 private:
  Device& device_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Module>> modules_;  // by key_of()
};

}  // namespace mgtune
