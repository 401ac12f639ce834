// Opens the file of a database of results for reading. Thread-safe.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "database/database.h"

namespace mgtune {

// "mgtn" in the file's header: this SQLite file is a store of mgtune.
inline constexpr std::int64_t kApplicationId = 0x6d67746e;

// The newest format that this mgtune reads: user_version in the file's header, and the number of
// the steps in store/schema.cpp.
inline constexpr std::int64_t kNewestFormat = 7;

// corrupt or incompatible if this mgtune does not read files of this format.
Status check_version(const std::string& path, std::int64_t version);

// Whether the file exists and has content. An empty file counts as no file, because mktemp makes
// empty files. io if the path is not a regular file.
Result<bool> has_content(const std::string& path);

// Opens a file whose header says that it is a store with a format from 0 to kNewestFormat. Runs no
// SQL of the file and does not look at its tables. Writes nothing, except that SQLite rolls back
// the unfinished transaction of a killed writer.
//
// not_found if there is no file. corrupt if it is not a database. incompatible if it is the
// database of another program or has a newer format. io. All messages have the name of the file.
Result<std::unique_ptr<Database>> open_to_read(const std::string& path);

}  // namespace mgtune
