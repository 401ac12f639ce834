// How SQLite keeps a store's file safe: WAL, where readers and a writer do not wait for each other,
// needs memory shared by all processes that have the file open, so it is for local file systems;
// DELETE works on network file systems too. Thread-safe.

#pragma once

#include <cstdint>
#include <string>

namespace mgtune {

enum class JournalMode : std::uint8_t { wal, delete_on_commit };

// By the file system's magic number (statfs). Unknown ones count as local.
JournalMode journal_mode_for(std::uint32_t file_system_magic);

// Of the file system that `path` lies on; delete_on_commit when it cannot be asked.
JournalMode journal_mode_at(const std::string& path);

}  // namespace mgtune
