#include "store/file/file_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace mgtune {

FilePlace::FilePlace(const std::string& path, const std::string& file)
    : named_(find(path)),
      file_(find(file)),
      log_(find(file + "-wal")),
      index_of_log_(find(file + "-shm")) {}

std::optional<FilePlace::Identity> FilePlace::identity_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino};
}

// A file system that does not answer for a moment has not lost the file.
bool FilePlace::is_lost(const Named& file) {
  if (!file.identity.has_value()) return true;
  const std::optional<Identity> now = identity_of(file.path);
  return now.has_value() ? now != file.identity : errno == ENOENT || errno == ENOTDIR;
}

bool FilePlace::holds() const { return !is_lost(named_) && !is_lost(file_); }

void FilePlace::remove_log() const {
  if (is_there(file_)) return;  // only a link leads elsewhere now
  for (const Named* part : {&log_, &index_of_log_}) {
    if (is_there(*part)) ::unlink(part->path.c_str());
  }
}

}  // namespace mgtune
