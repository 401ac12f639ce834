// Reads files from folders that only this user can write to. Code that runs on a GPU or in this
// process is loaded only from such folders, because a checksum detects damage but does not say who
// wrote a file. Thread-safe.

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

}  // namespace mgtune
