#include "sweep/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/file_system.h"

namespace mgtune {
namespace {

// The lock file holds the process id of its owner, for the message of whoever comes second.
std::string owner_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  if (size <= 0) return "unknown";
  const std::string_view owner(text.data(), static_cast<std::size_t>(size));
  return std::string(owner.substr(0, owner.find('\n')));
}

Status write_owner(int descriptor, const std::string& path) {
  const std::string text = std::to_string(getpid()) + "\n";
  const bool written = ftruncate(descriptor, 0) == 0 &&
                       pwrite(descriptor, text.data(), text.size(), 0) == ssize_t(text.size());
  return written ? Status() : io_error("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace

std::string DeviceLock::default_directory() {
  const char* data = ::secure_getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/mgtune";
  const char* home = ::secure_getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.local/share/mgtune";
  return "/tmp/mgtune-" + std::to_string(::getuid());
}

Result<DeviceLock> DeviceLock::acquire(const std::string& directory, const std::string& device_id) {
  MGTUNE_TRY(FileSystem::real().create_directories(directory, 0700));
  const std::string path = directory + "/sweep-" + device_id + ".lock";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return io_error("cannot open " + path + ": " + std::strerror(errno));
  DeviceLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return io_error("cannot lock " + path + ": " + std::strerror(errno));
    return environment_error("another sweep (process " + owner_of(descriptor) +
                             ") is using device " + device_id +
                             "; two at a time would disturb each other's times");
  }
  MGTUNE_TRY(write_owner(descriptor, path));
  return lock;
}

DeviceLock::~DeviceLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace mgtune
