// Files in folders that only this user can write to. Code that a GPU or this process runs is
// loaded from nowhere else: a checksum tells damage, not who wrote the file. Thread-safe.

#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

// ok when `directory` is one, is owned by this user, and nobody else can write to it.
Status check_private_directory(const std::string& directory);

// A directory that passed this check. Whoever may write to a folder above it can make its path
// stand for another one afterwards; descriptor() is of the one that was checked.
class PrivateDirectory {
 public:
  static Result<PrivateDirectory> open(const std::string& directory);
  int descriptor() const { return descriptor_.get(); }

 private:
  explicit PrivateDirectory(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  FileDescriptor descriptor_;
};

// The content of the regular file `name` in `directory`; both are checked as above, through the
// descriptors that are then read, and a link is not followed. not_found when there is no such file,
// corrupt when it is something else, somebody else's, or larger than `max_bytes`.
Result<std::string> read_private_file(const std::string& directory, const std::string& name,
                                      std::size_t max_bytes);

// At most the first `bytes` of such a file, however large it is.
Result<std::string> read_private_file_start(const std::string& directory, const std::string& name,
                                            std::size_t bytes);

}  // namespace mgtune
