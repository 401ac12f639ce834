// Reads files that no other user can have written. Code that runs on a GPU or in this process is
// loaded only from such files, because a checksum detects damage but does not say who wrote a file.
// Files that mgtune keeps for itself lie in folders of this user. Files that an administrator may
// have installed may also be root's. Thread-safe.

#pragma once

#include <cstddef>
#include <string>

#include "core/status.h"
#include "system/file_descriptor.h"

namespace mgtune {

// Opens a directory that belongs to this user and that nobody else can write to. corrupt if it is
// not such a directory. Somebody who may write to a folder above it can later make its path mean
// another directory. The descriptor always refers to the one that was checked.
Result<FileDescriptor> open_private_directory(const std::string& directory);

// The content of the regular file `name` in `directory`. Both are checked as above, through the
// descriptors that are then read. A link is not followed. not_found if there is no such file;
// corrupt if it is not a regular file, belongs to somebody else, or is larger than `max_bytes`.
Result<std::string> read_private_file(const std::string& directory, const std::string& name,
                                      std::size_t max_bytes);

// At most the first `bytes` of such a file, however large it is.
Result<std::string> read_private_file_start(const std::string& directory, const std::string& name,
                                            std::size_t bytes);

// ok if the open file is the regular file `name` of the open folder and not a link, and if both
// belong to this user or to root and nobody else can write to them. In a folder with the sticky bit
// (/tmp) others may create files, but cannot exchange this one. `path` is what messages call the
// file; corrupt says what is wrong and what helps.
Status check_trusted_file(int folder, const std::string& name, int file, const std::string& path);

}  // namespace mgtune
