// Opening a store's file: what is there is looked at through a read-only connection before
// anything is written, so that a damaged, newer or foreign file stays as it was, byte for byte.
// Private to store/. One thread at a time per database object.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "store/database.h"
#include "store/store.h"

namespace mgtune {

// How SQLite keeps a file safe. With WAL, readers and a writer do not wait for each other, but it
// needs memory that all processes share, so it is for local file systems. DELETE works on network
// file systems too.
enum class JournalMode : std::uint8_t { wal, delete_on_commit };

// By the file system's magic number (statfs). Unknown ones count as local.
JournalMode journal_mode_for(std::uint32_t file_system_magic);

// Of the file system that `path` lies on; delete_on_commit when it cannot be asked.
JournalMode journal_mode_at(const std::string& path);

// corrupt, incompatible, io, or not_found as Store::open says.
Result<std::unique_ptr<Database>> open_store_file(const std::string& path, Store::Mode mode);

// Before the last writer closes: folds the write-ahead log into the file and leaves DELETE mode, so
// that a store at rest is one file, readable from read-only media and copied with cp. Without
// effect while another process has the file open.
void leave_at_rest(Database& database);

}  // namespace mgtune
