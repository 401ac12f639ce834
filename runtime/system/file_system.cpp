#include "system/file_system.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "system/file_descriptor.h"

namespace mgtune {
namespace {

// The largest recording that is published has 60 MB. A device can be read for ever.
constexpr std::size_t kMaxFileBytes = std::size_t{512} << 20U;

Status errno_status(const char* action, const std::string& path, int error) {
  return io_error(std::string("cannot ") + action + " " + path + ": " + std::strerror(error));
}

// A new file that only this user may read: `name` with six letters or digits appended, as
// mkostemp(3) does, in an open folder.
FileDescriptor create_beside(int folder, std::string& name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const std::size_t bytes = name.size();
  std::array<unsigned char, 6> drawn;
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::getrandom(drawn.data(), drawn.size(), 0) != std::ssize(drawn)) return {};
    name.resize(bytes);
    name += '.';
    for (const unsigned char number : drawn) name += kLetters[number % kLetters.size()];
    FileDescriptor file(
        ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.is_open() || errno != EEXIST) return file;
  }
  return {};
}

Status fill(FileDescriptor& file, const std::string& path, std::string_view content, bool sync) {
  if (!write_all(file.get(), content)) return errno_status("write", path, errno);
  if (sync && ::fsync(file.get()) != 0) return errno_status("sync", path, errno);
  if (file.close() != 0) return errno_status("close", path, errno);
  return {};
}

// Writes the file `name` in the open folder `folder` under another name and renames it. `prepare`
// gets the descriptor of the new file before it has content or its name. `path` is what messages
// call the file.
template <typename Prepare>
Status replace(int folder, const std::string& name, const std::string& path,
               std::string_view content, bool sync, const Prepare& prepare) {
  std::string temporary = name;
  FileDescriptor file = create_beside(folder, temporary);
  if (!file.is_open()) return errno_status("create", path, errno);
  prepare(file.get());
  Status status = fill(file, path, content, sync);
  if (status.ok() && ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) {
    status = errno_status("write", path, errno);
  }
  if (!status.ok()) ::unlinkat(folder, temporary.c_str(), 0);
  return status;
}

constexpr auto kKeepPrivate = [](int /*file*/) {};

Status sync_folder(int folder, const std::string& path) {
  const FileDescriptor readable(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable.is_open()) {
    if (::fsync(readable.get()) == 0 || errno == EINVAL) return {};
  } else if (errno == EACCES) {
    return {};  // files in the folder may be written, but the folder may not be read
  }
  return errno_status("sync the folder of", path, errno);
}

// The folder that a path is in, opened once, and the path's last part.
struct Place {
  FileDescriptor folder;
  std::string name;
};

Result<Place> open_place(const std::string& path) {
  const std::filesystem::path parts(path);
  const std::string parent = parts.has_parent_path() ? parts.parent_path().string() : ".";
  // O_PATH: a folder whose files may be used need not be readable itself.
  Place place{FileDescriptor(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
              parts.filename().string()};
  if (!place.folder.is_open()) return errno_status("create", path, errno);
  return place;
}

class RealFileSystem final : public FileSystem {
 public:
  Result<std::string> read_file(const std::string& path) override {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return errno_status("read", path, errno);
    const Status too_large = io_error("cannot read " + path + ": over 512 MiB");
    struct stat info {};
    const bool has_size = ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
    if (has_size && info.st_size > off_t{kMaxFileBytes}) return too_large;
    std::string content;
    if (!read_all(file.get(), content, kMaxFileBytes + 1)) return errno_status("read", path, errno);
    if (content.size() > kMaxFileBytes) return too_large;
    return content;
  }

  Status write_file(const std::string& path, std::string_view content) override {
    MGTUNE_ASSIGN(const Place place, open_place(path));
    MGTUNE_TRY(replace(place.folder.get(), place.name, path, content, true, kKeepPrivate));
    return sync_folder(place.folder.get(), path);
  }

  Status write_file_unsynced(int folder, const std::string& path,
                             std::string_view content) override {
    return replace(folder, path.substr(path.rfind('/') + 1), path, content, false, kKeepPrivate);
  }

  Status create_directories(const std::string& path, unsigned mode) override {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty() && !is_directory(parent)) MGTUNE_TRY(create_directories(parent, mode));
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
      return errno_status("create folder", path, errno);
    }
    return {};
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_status("remove", path, errno);
    return {};
  }

  bool is_directory(const std::string& path) override {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Result<std::vector<std::string>> list_files(const std::string& directory) override {
    std::error_code error;
    std::vector<std::string> files;
    std::filesystem::recursive_directory_iterator walk(directory, error);
    for (; !error && walk != std::filesystem::recursive_directory_iterator();
         walk.increment(error)) {
      if (walk->is_symlink(error) || !walk->is_regular_file(error)) continue;
      files.push_back(walk->path().lexically_relative(directory).string());
    }
    if (error) return errno_status("list", directory, error.value());
    std::ranges::sort(files);
    return files;
  }
};

// Whether a file of a folder is a database. Only regular files are read: reading a pipe would wait
// for ever.
bool is_database(const Place& place) {
  constexpr std::string_view kDatabase = "SQLite format 3";
  const FileDescriptor file(
      ::openat(place.folder.get(), place.name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat state {};
  if (!file.is_open() || ::fstat(file.get(), &state) != 0 || !S_ISREG(state.st_mode)) return false;
  std::string start;
  return read_all(file.get(), start, kDatabase.size()) && start == kDatabase;
}

// Whether only this user and root can put something into the folder.
bool is_ours(const FileDescriptor& folder) {
  struct stat state {};
  return ::fstat(folder.get(), &state) == 0 && (state.st_uid == ::geteuid() || state.st_uid == 0) &&
         (state.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Writes to a device, or through a link. A link in a folder that others can write to may lead to a
// file that its owner cannot write and this process can, so it is not followed.
Status write_over(const Place& place, const std::string& path, std::string_view content) {
  // A link may lead to a file that does not exist yet.
  const int follow = is_ours(place.folder) ? O_CREAT : O_NOFOLLOW;
  FileDescriptor file(::openat(place.folder.get(), place.name.c_str(),
                               O_WRONLY | O_TRUNC | O_CLOEXEC | follow, 0644));
  if (!file.is_open() && errno == ELOOP && follow == O_NOFOLLOW) {
    return io_error("cannot write " + path +
                    ": it is a link in a folder that other users can write to; name the file that "
                    "it leads to");
  }
  if (!file.is_open()) return errno_status("write", path, errno);
  return fill(file, path, content, false);
}

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0644 & ~mask;
}

// Gives a new file the owner and the mode of the one that it replaces. If the owner cannot be kept,
// the mode is that of a new file, so that the old owner can still read it.
void set_permissions(int file, const struct stat* before) {
  struct stat now {};
  const bool is_kept = before != nullptr && ::fstat(file, &now) == 0 &&
                       ((now.st_uid == before->st_uid && now.st_gid == before->st_gid) ||
                        ::fchown(file, before->st_uid, before->st_gid) == 0);
  ::fchmod(file, is_kept ? before->st_mode & 0777 : mode_of_new_files());
}

}  // namespace

FileSystem& FileSystem::real() {
  static RealFileSystem file_system;
  return file_system;
}

// The folder is opened once and the new file gets its owner and mode through its descriptor. So
// somebody who may write to the folder cannot direct them to another file by putting a link there.
Status write_output(const std::string& path, std::string_view what, std::string_view content) {
  MGTUNE_ASSIGN(const Place place, open_place(path));
  if (is_database(place)) {
    return invalid_argument(path + " is a database; " + std::string(what) + " would replace it");
  }
  struct stat before {};
  const bool was_there =
      ::fstatat(place.folder.get(), place.name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
  if (was_there && !S_ISREG(before.st_mode)) return write_over(place, path, content);
  MGTUNE_TRY(replace(place.folder.get(), place.name, path, content, true,
                     [&](int file) { set_permissions(file, was_there ? &before : nullptr); }));
  return sync_folder(place.folder.get(), path);
}

}  // namespace mgtune
