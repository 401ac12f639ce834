// TemporaryFolder: a private folder (0700) in $TMPDIR or /tmp for files that other programs must
// read: sources for a compiler, libraries for the loader. Removed with everything in it when the
// object goes. Move-only; any number of threads may write different files of one.
//
// A killed process cannot remove its own. So each folder has a file `.lock` that its owner holds
// locked, and the first folder that a process creates removes those of ours that nobody holds.

#pragma once

#include <string>
#include <string_view>

#include "system/file_descriptor.h"
#include "core/status.h"

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

  // Creates the folders of `name` ("mg/vec.cuh"). Not synced: nothing here outlives the process.
  // invalid_argument for a name that leads out of the folder.
  Status write(const std::string& name, std::string_view content) const;

  // Removes the folders of killed processes in $TMPDIR or /tmp; create() does so once a process.
  static void remove_abandoned();

 private:
  TemporaryFolder() = default;
  Status lock();
  void remove() noexcept;

  std::string path_;
  FileDescriptor lock_;
};

}  // namespace mgtune
