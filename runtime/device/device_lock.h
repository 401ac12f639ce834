// DeviceLock: makes sure that only one sweep at a time uses a device. For a GPU this holds for all
// processes of the machine, for the cpu device for all processes of the user. The operating system
// releases the lock when the process ends, also if it is killed. The lock file stays. Move-only;
// the functions may be called from any thread.

#pragma once

#include <string>
#include <utility>

#include "core/status.h"
#include "device/device.h"
#include "system/file_descriptor.h"

namespace mgtune {

class DeviceLock {
 public:
  // The folder of the lock files. It is the same for everyone who may use the device, and for every
  // database: /run/lock or /tmp for a GPU, $XDG_DATA_HOME/mgtune or ~/.local/share/mgtune for the
  // cpu device.
  static std::string default_directory(DeviceKind kind);

  // environment if another process holds the lock (the message names the process if it is known),
  // or if the path of the lock file is a link, a folder or a device.
  static Result<DeviceLock> acquire(const std::string& directory, const std::string& device_id);

 private:
  explicit DeviceLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace mgtune
