// FileSystem: code that writes or reads files which outlive the process uses this interface
// (entries of the build cache, families, configurations, reports). So a test can make the n-th
// operation fail. These do not use it: SQLite's own files, temporary folders, lock files, and reads
// that must check who owns a file (private_file.h). FileSystem::real() is the one of the operating
// system; it is stateless and thread-safe.
//
// Failures are StatusCode::io, also for a missing file. They name the path and the errno text.

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

  // io also if the file has more than 512 MiB, or does not end.
  virtual Result<std::string> read_file(const std::string& path) = 0;

  // Writes a temporary file beside `path`, syncs it, renames it to `path` and syncs the folder. So
  // a reader sees the old content or the new one, never a part. If anything fails, the temporary
  // file is removed.
  virtual Status write_file(const std::string& path, std::string_view content) = 0;

  // The same without the syncs, because every sync waits for the disk. The file is written into the
  // folder that the descriptor `folder` refers to, even if the folder's path means another one by
  // now. Only the last part of `path` is used; messages name all of it. All readers still see the
  // old or the new file, but after a power loss only a part of it may be there. This is for files
  // that have a checksum and can be made again.
  virtual Status write_file_unsynced(int /*folder*/, const std::string& path,
                                     std::string_view content) {
    return write_file(path, content);
  }

  virtual Status create_directories(const std::string& path, unsigned mode) = 0;
  virtual Status remove(const std::string& path) = 0;  // ok if it does not exist
  virtual bool is_directory(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;

  // The paths of all regular files below `directory`, relative to it, sorted. Links are not
  // followed.
  virtual Result<std::vector<std::string>> list_files(const std::string& directory) = 0;
};

// Writes a file to a path that the user chose. The file is written whole or not at all. It replaces
// a file that exists, even a read-only one, and gets the owner and the mode of that file. Others
// may read a new file, unlike the files that mgtune keeps for itself. A device or a link is written
// in place, but a link is not followed out of a folder that other users can write to.
// invalid_argument, with `what` as the subject, if it would replace a database; io.
Status write_output(const std::string& path, std::string_view what, std::string_view content);

}  // namespace mgtune
