// SharedModules: the modules that a device has loaded for the plans of a context. Plans that need
// the same build share one module, so its code is on the GPU and in the instruction caches once. A
// module is unloaded when the last plan that uses it is destroyed. Kernels may share a module
// because they keep no state in it (kernels/README.md requires that); state between launches is in
// workspaces. Variants that read constant memory are the exception: each launch fills that memory,
// so they do not share their module (load_unshared()). If a module is loaded already, load() does
// not call the device. If the device is lost, the launch will report that.
//
// Ownership: modules belong to the callers of load(). All modules must be destroyed before this
// object, and this object before the device. Threads: any number may load and release modules at
// once, and each build is loaded once. Loading and releasing lock device_mutex(). All other code
// must lock it too for functions of the device that must not run concurrently (device.h).

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

  // The lock for the functions of the device. A thread that holds it must not release a module,
  // because releasing locks it too.
  std::mutex& device_mutex() { return mutex_; }

  // The module of the build. It is loaded if no caller has it. Failures are those of the device;
  // the next call tries again.
  Result<std::shared_ptr<const Module>> load(const Build& build);

  // A module for the caller alone, because its launches write variables of the module.
  Result<std::shared_ptr<const Module>> load_unshared(const Build& build);

 private:
  Result<std::shared_ptr<const Module>> load_locked(const Build& build);  // mutex_ is held

  Device& device_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Module>> modules_;  // by key_of()
};

}  // namespace mgtune
