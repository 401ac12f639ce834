// Opens the file of a store. An existing file is first checked through a read-only connection,
// before anything is written. So a file that is damaged, or has a newer format, or belongs to
// another program is never changed, not even by one byte. Private to store/. One thread at a time
// per database object.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "database/database.h"
#include "store/store.h"

namespace mgtune {

// Whether a file system is in our list of network file systems, by its magic number (from statfs).
// On a local file system, SQLite protects a file by a write-ahead log (WAL): readers and a writer
// do not wait for each other. A WAL needs memory that all processes share, so on a network file
// system SQLite runs in DELETE mode.
bool is_network_file_system(std::uint32_t magic);

// Whether `path` is on a local file system; false if statfs fails.
bool can_have_wal(const std::string& path);

// Fails as Store::open() does.
Result<std::unique_ptr<Database>> open_store_file(const std::string& path, Store::Mode mode);

// To be called before a writer closes the file. It merges the write-ahead log into the file and
// switches to DELETE mode. So a store that nobody uses is a single file, which can be copied with
// cp and read from read-only media. If another process has the file open, nothing happens: the
// last writer that closes the file does it.
void leave_at_rest(Database& database);

}  // namespace mgtune
