// DeviceLock: at most one sweep on a device at a time, over all processes of this user on this
// machine. The operating system drops the lock with the process, however it ends. Move-only.

#pragma once

#include <string>

#include "core/status.h"

namespace mgtune {

class DeviceLock {
 public:
  // $XDG_DATA_HOME/mgtune or ~/.local/share/mgtune: the same whichever database a sweep writes to.
  static std::string default_directory();

  // environment when another process holds it, naming that process.
  static Result<DeviceLock> acquire(const std::string& directory, const std::string& device_id);

  DeviceLock(DeviceLock&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  DeviceLock& operator=(DeviceLock&&) = delete;
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  ~DeviceLock();

 private:
  explicit DeviceLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace mgtune
