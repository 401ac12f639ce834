// DeviceLock: at most one sweep on a device at a time, over all processes of this machine for a
// GPU, of this user for the cpu device. The operating system drops the lock with the process,
// however it ends; the file stays. Move-only; the functions may be called from any thread.

#pragma once

#include <string>
#include <utility>

#include "core/status.h"
#include "device/device.h"
#include "system/file_descriptor.h"

namespace mgtune {

class DeviceLock {
 public:
  // The folder whose lock files mean the same to everyone who may sweep on such a device, whichever
  // database they write to: /run/lock or /tmp for a GPU, $XDG_DATA_HOME/mgtune or
  // ~/.local/share/mgtune for the cpu device.
  static std::string default_directory(DeviceKind kind);

  // environment when another process holds it, naming that process where it is known, or when
  // something else lies where the lock file should: a link, a folder, a device.
  static Result<DeviceLock> acquire(const std::string& directory, const std::string& device_id);

 private:
  explicit DeviceLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace mgtune
