// TemporaryFolder: a private folder (0700) for files that other programs must read: sources for a
// compiler, libraries for the loader. Removed with everything in it when the object goes; a killed
// process leaves it behind in $TMPDIR or /tmp. Move-only.

#pragma once

#include <string>
#include <string_view>

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

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  void remove() noexcept;

  std::string path_;
};

}  // namespace mgtune
