// TemporaryFolder: a private folder (0700) in $TMPDIR or /tmp for files that other programs must
// read: sources for a compiler, libraries for the loader. The destructor removes it with everything
// in it. Move-only. Any number of threads may write different files of one folder.
//
// A killed process cannot remove its folder. So each folder has a file `.lock` that its owner keeps
// locked. The file has a mark that is valid for this folder only. The programs mgtune and mgengine
// remove the folders that have a valid mark and that nobody locks; the libraries never do.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

  // Creates the folders of `name` ("mg/vec.cuh") too. The file is not synced, because nothing here
  // outlives the process. invalid_argument if the name leads out of the folder.
  Status write(const std::string& name, std::string_view content) const;

  // Removes the folders of killed processes of this user in $TMPDIR or /tmp. No link is followed.
  static void remove_abandoned();

 private:
  TemporaryFolder() = default;
  Status lock();

  std::string path_;
  FileDescriptor folder_, lock_;
};

}  // namespace mgtune
