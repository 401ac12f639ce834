// Recognizes a file with tuned rows by its first bytes. A table or a pack is read completely; a
// database is not. Thread-safe.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mgtune {

struct SourceFile {
  enum class Kind : std::uint8_t { database, table, pack };
  Kind kind = Kind::database;  // also for any other file: opening it as a database then fails
  std::string content;         // of a table or a pack
};

// not_found or io, with the name of the file; corrupt for a pack that another user can have written
// (check_trusted_file() says which), and for a table or pack that is too large.
Result<SourceFile> read_source_file(const std::string& path);

}  // namespace mgtune
