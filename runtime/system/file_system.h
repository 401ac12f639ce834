// FileSystem: what writes or reads a file that outlives the process goes through this interface
// (entries of the build cache, families, configurations, reports), so that a test can make the n-th
// operation fail. Not through it: SQLite's own files, temporary folders, lock files, and reads that
// must check whom a file belongs to (private_file.h). FileSystem::real() is the operating system's;
// it is stateless and thread-safe.
// Failures are StatusCode::io (not_found for a missing file) and name the path and the errno text.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  static FileSystem& real();

  virtual Result<std::string> read_file(const std::string& path) = 0;

  // Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the folder:
  // a reader sees the old content or the new one, never a part. The temporary goes on any failure.
  virtual Status write_file(const std::string& path, std::string_view content) = 0;

  // Without the syncs, which wait for the disk at every file however many processes write, and into
  // the folder that the descriptor `folder` is of, whatever its path stands for by now; of `path`
  // the last part counts, and messages name all of it. A file is still the old or the new one for
  // all readers, but a machine that loses power may leave a part of it. For what has a checksum and
  // can be made again.
  virtual Status write_file_unsynced(int /*folder*/, const std::string& path,
                                     std::string_view content) {
    return write_file(path, content);
  }

  virtual Status create_directories(const std::string& path, unsigned mode) = 0;
  virtual Status remove(const std::string& path) = 0;  // ok when nothing is there
  virtual bool is_directory(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;

  // Paths of all regular files below `directory`, relative to it, sorted. Links are not followed.
  virtual Result<std::vector<std::string>> list_files(const std::string& directory) = 0;

 protected:
  FileSystem() = default;
  FileSystem(const FileSystem&) = default;
  FileSystem& operator=(const FileSystem&) = default;
};

}  // namespace mgtune
