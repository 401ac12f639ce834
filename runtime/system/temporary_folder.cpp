#include "system/temporary_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "mgtune-";
constexpr std::size_t kRandom = 6;  // characters that mkdtemp() makes up
constexpr const char* kLock = ".lock";
constexpr std::size_t kMaxMarkBytes = 256;
constexpr int kAttempts = 100;  // some fail while another process cleans up all the time

std::string parent_folder() {
  const char* const parent = std::getenv("TMPDIR");
  return parent != nullptr && *parent != '\0' ? parent : "/tmp";
}

FileDescriptor open_folder(int parent, const char* name) {
  return FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The text that marks a folder, in its lock file. It is valid for one folder only, and until the
// machine starts anew: a copy, or a folder that was moved to another file system, is not marked.
std::string mark_of(const struct stat& folder) {
  static const std::string boot = [] {
    std::string text;
    const FileDescriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (file.is_open()) read_all(file.get(), text, kMaxMarkBytes / 2);
    return text.substr(0, text.find('\n'));
  }();
  return "mgtune's temporary folder " + std::to_string(folder.st_dev) + " " +
         std::to_string(folder.st_ino) + " of user " + std::to_string(folder.st_uid) + " since " +
         boot + "\n";
}

bool is_private(const struct stat& state) {
  return state.st_uid == geteuid() && (state.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

// A handle for readdir(), at the first entry. nullptr if the folder cannot be read.
DIR* open_entries(const FileDescriptor& folder) {
  const int own = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = own < 0 ? nullptr : ::fdopendir(own);
  if (entries == nullptr && own >= 0) ::close(own);
  return entries;
}

// Removes everything in the folder except `kept`. No link is followed. Nothing is named by a path,
// so it does not matter what is renamed at the same time.
void remove_content(const FileDescriptor& folder, std::string_view kept) {
  DIR* const entries = open_entries(folder);
  if (entries == nullptr) return;
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == kept) continue;
    if (::unlinkat(folder.get(), entry->d_name, 0) == 0) continue;
    const FileDescriptor below = open_folder(folder.get(), entry->d_name);
    if (!below.is_open()) continue;
    remove_content(below, "");
    ::unlinkat(folder.get(), entry->d_name, AT_REMOVEDIR);
  }
  ::closedir(entries);
}

// The lock is removed last. If this process is killed before that, the rest is still recognized as
// abandoned.
void empty_folder(const FileDescriptor& folder) {
  remove_content(folder, kLock);
  ::unlinkat(folder.get(), kLock, 0);
}

// Removes the folder `name` if its owner was killed. A folder without the mark is removed only if
// it is empty: its owner died before it wrote the mark, or the folder is not one of ours.
void remove_if_abandoned(int parent, const char* name) {
  const FileDescriptor folder = open_folder(parent, name);
  struct stat state {};
  if (!folder.is_open() || ::fstat(folder.get(), &state) != 0 || !is_private(state)) return;
  const FileDescriptor lock(
      ::openat(folder.get(), kLock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (lock.is_open()) {
    struct stat of_lock {};
    std::string mark;
    if (::fstat(lock.get(), &of_lock) != 0 || !S_ISREG(of_lock.st_mode) || !is_private(of_lock) ||
        ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !read_all(lock.get(), mark, kMaxMarkBytes)) {
      return;
    }
    if (mark == mark_of(state)) {
      empty_folder(folder);
    } else if (mark.empty()) {
      ::unlinkat(folder.get(), kLock, 0);
    }
  }
  ::unlinkat(parent, name, AT_REMOVEDIR);  // fails unless it is empty
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::create() {
  // Tries again if another process that cleans up removed the folder: without a mark it looked
  // abandoned.
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    TemporaryFolder folder;
    std::string path = parent_folder() + "/" + std::string(kPrefix) + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return io_error("cannot create " + path + ": " + std::strerror(errno));
    }
    folder.path_ = std::move(path);
    status = folder.lock();
    if (status.ok()) return folder;
  }
  return status;
}

Status TemporaryFolder::lock() {
  folder_ = open_folder(AT_FDCWD, path_.c_str());
  lock_ = FileDescriptor(
      ::openat(folder_.get(), kLock, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat folder {};
  struct stat lock {};
  // A process that cleans up may hold the lock for a moment, and then the file is gone.
  if (lock_.is_open() && ::flock(lock_.get(), LOCK_EX) == 0 &&
      ::fstat(folder_.get(), &folder) == 0 && ::fstat(lock_.get(), &lock) == 0 &&
      lock.st_nlink == 1 && write_all(lock_.get(), mark_of(folder))) {
    return Status();
  }
  return io_error("cannot lock " + path_ + "/" + kLock + ": " + std::strerror(errno));
}

void TemporaryFolder::remove_abandoned() {
  const std::string path = parent_folder();
  const FileDescriptor parent(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.is_open()) return;
  DIR* const entries = open_entries(parent);
  if (entries == nullptr) return;
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + kRandom) {
      remove_if_abandoned(parent.get(), entry->d_name);
    }
  }
  ::closedir(entries);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())),
      folder_(std::move(other.folder_)),
      lock_(std::move(other.lock_)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  TemporaryFolder moved(std::move(other));
  std::swap(path_, moved.path_);
  std::swap(folder_, moved.folder_);
  std::swap(lock_, moved.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  if (folder_.is_open()) empty_folder(folder_);
  ::rmdir(path_.c_str());  // fails unless it is empty
}

Status TemporaryFolder::write(const std::string& name, std::string_view content) const {
  const fs::path relative(name);
  if (relative.is_absolute() || !relative.has_filename() ||
      std::ranges::count(relative, "..") > 0) {
    return invalid_argument("not a file below its folder: '" + name + "'");
  }
  const fs::path path = fs::path(path_) / relative;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) {
    return io_error("cannot create " + path.parent_path().string() + ": " + error.message());
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return io_error("cannot write " + path.string() + ": " + std::strerror(errno));
  return Status();
}

}  // namespace mgtune
