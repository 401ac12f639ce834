#include "device/device_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "system/file_system.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

// A lock file that one user made can be opened by all users, and they can write a process id to it.
constexpr mode_t kAllUsers = 0666;

// Whether every user may make files in the folder, but no user may replace those of another one.
// The answer is the same for all users.
bool is_shared(const char* folder) {
  constexpr mode_t kSticky = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
  struct stat info {};
  return ::stat(folder, &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & kSticky) == kSticky;
}

Status errno_error(const std::string& what, const std::string& path) {
  return io_error(what + " " + path + ": " +
                  std::error_code(errno, std::generic_category()).message());
}

// O_CREAT is used only together with O_EXCL. In a sticky folder, a kernel with fs.protected_regular
// refuses O_CREAT for an existing file of another user, whatever the mode of the file is.
int open_or_create(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  for (int attempt = 0; attempt < 3; ++attempt) {
    int descriptor = ::open(path.c_str(), O_RDWR | kFlags);
    // The process that made the file may have ended before it could give all users access. A lock
    // needs read access only.
    if (descriptor < 0 && errno == EACCES) descriptor = ::open(path.c_str(), O_RDONLY | kFlags);
    if (descriptor >= 0 || errno != ENOENT) return descriptor;
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, kAllUsers);
    if (descriptor >= 0) {
      static_cast<void>(::fchmod(descriptor, kAllUsers));  // the umask may have removed bits
      return descriptor;
    }
    if (errno != EEXIST) return descriptor;
  }
  return -1;
}

// If another user made a link to somebody's file there, mgtune must not write to that file.
bool is_lock_file(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
}

// "process 4711" from what the holder wrote. "" if the holder could not write it, or if there is no
// such process. Any user may have written to the file, so only a number is read from it.
std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  int process = 0;
  if (size <= 0) return "";
  const auto read = std::from_chars(text.data(), text.data() + size, process);
  const bool alive =
      read.ec == std::errc() && process > 0 && (::kill(process, 0) == 0 || errno == EPERM);
  return alive ? "process " + std::to_string(process) : "";
}

// The next sweep names this process in its message. If it cannot be written, the message has no
// process.
void write_holder(int descriptor) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor, 0) != 0) return;
  static_cast<void>(!::pwrite(descriptor, text.data(), text.size(), 0));
}

}  // namespace

std::string DeviceLock::default_directory(DeviceKind kind) {
  std::string own = kind == DeviceKind::cpu ? user_data_folder() : "";
  if (!own.empty()) return own;
  return is_shared("/run/lock") ? "/run/lock" : "/tmp";
}

Result<DeviceLock> DeviceLock::acquire(const std::string& directory, const std::string& device_id) {
  MGTUNE_TRY(FileSystem::real().create_directories(directory, 0700));
  const std::string path = directory + "/mgtune-" + device_id + ".lock";
  FileDescriptor file(open_or_create(path));
  const bool foreign = !file.is_open() && (errno == ELOOP || errno == EISDIR || errno == ENXIO);
  if (!file.is_open() && !foreign) return errno_error("cannot open", path);
  if (foreign || !is_lock_file(file.get())) {
    return environment_error(path + " is a link or no plain file; mgtune locks device " +
                             device_id + " there: remove it");
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error("cannot lock", path);
    const std::string holder = holder_of(file.get());
    return environment_error("another sweep " + (holder.empty() ? "" : "(" + holder + ") ") +
                             "is using device " + device_id +
                             "; two at a time would disturb each other's times");
  }
  write_holder(file.get());
  return DeviceLock(std::move(file));
}

}  // namespace mgtune
