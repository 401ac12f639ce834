#include "system/temporary_folder.h"

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
#include <mutex>
#include <system_error>
#include <utility>

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "mgtune-";
constexpr std::size_t kRandom = 6;  // characters that mkdtemp() makes up
constexpr const char* kLock = ".lock";
constexpr const char* kNewLock = ".lock.new";
constexpr int kAttempts = 100;  // one in some fails beside a process that does nothing but clean up

std::string parent_folder() {
  const char* const parent = std::getenv("TMPDIR");
  return parent != nullptr && *parent != '\0' ? parent : "/tmp";
}

bool is_own_folder(const fs::path& path) {
  struct stat state {};
  return lstat(path.c_str(), &state) == 0 && S_ISDIR(state.st_mode) && state.st_uid == geteuid();
}

// The lock is removed last. If this process is killed before that, the rest is still recognized as
// abandoned.
void remove_folder(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename() != kLock) fs::remove_all(entry->path(), ignored);
  }
  unlink((folder / kLock).c_str());
  rmdir(folder.c_str());
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::create() {
  static std::once_flag cleaned;
  std::call_once(cleaned, remove_abandoned);

  // Tries again if another process that cleans up took the folder, which had no lock yet, for an
  // abandoned one.
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

// The file gets its name only after it is locked, so nobody finds it unlocked.
Status TemporaryFolder::lock() {
  const std::string name = path_ + "/" + kLock, unlocked = path_ + "/" + kNewLock;
  lock_ = FileDescriptor(open(unlocked.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (lock_.is_open() && flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 &&
      rename(unlocked.c_str(), name.c_str()) == 0) {
    return Status();
  }
  return io_error("cannot lock " + name + ": " + std::strerror(errno));
}

void TemporaryFolder::remove_abandoned() {
  std::error_code error;
  for (fs::directory_iterator entry(parent_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!path.filename().string().starts_with(kPrefix) || !is_own_folder(path)) continue;
    const FileDescriptor lock(open((path / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock.is_open()) {
      if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) remove_folder(path);
    } else if (errno == ENOENT && path.filename().string().size() == kPrefix.size() + kRandom) {
      // Its owner died before the folder was locked, or after its content was removed. Otherwise
      // rmdir fails.
      unlink((path / kNewLock).c_str());
      rmdir(path.c_str());
    }
  }
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())), lock_(std::move(other.lock_)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  TemporaryFolder moved(std::move(other));
  std::swap(path_, moved.path_);
  std::swap(lock_, moved.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_folder(path_);
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
