// Opens the file of a store. An existing file is first checked through a read-only connection,
// before anything is written. So a file that is damaged, or has a newer format, or belongs to
// another program is never changed, not even by one byte. Private to store/. One thread at a time
// per database object.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "store/database.h"
#include "store/store.h"

namespace mgtune {

// How SQLite protects the file against a crash in the middle of a transaction. With WAL (a
// write-ahead log), readers and a writer do not wait for each other. WAL needs memory that all
// processes share, so it works on local file systems only. DELETE works on network file systems
// too.
enum class JournalMode : std::uint8_t { wal, delete_on_commit };

// Chooses the mode by the magic number of the file system (from statfs). A file system that is not
// in our list of network file systems counts as local.
JournalMode journal_mode_for(std::uint32_t file_system_magic);

// The mode for the file system of `path`; delete_on_commit if statfs fails.
JournalMode journal_mode_at(const std::string& path);

// Fails as Store::open() does.
Result<std::unique_ptr<Database>> open_store_file(const std::string& path, Store::Mode mode);

// To be called before a writer closes the file. It merges the write-ahead log into the file and
// switches to DELETE mode. So a store that nobody uses is a single file, which can be copied with
// cp and read from read-only media. If another process has the file open, nothing happens: the
// last writer that closes the file does it.
void leave_at_rest(Database& database);

}  // namespace mgtune
