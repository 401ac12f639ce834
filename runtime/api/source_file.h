// Which kind of file holds tuned rows, by its first bytes, and the content of those that are read
// whole. Thread-safe.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mgtune {

struct SourceFile {
  enum class Kind : std::uint8_t { database, table, pack };
  Kind kind = Kind::database;  // also what is none of these: opening a database says what is wrong
  std::string content;         // of a table or a pack
};

// not_found, or io, naming the file; corrupt for a pack that everybody can write and for a table or
// pack that is too large.
Result<SourceFile> read_source_file(const std::string& path);

}  // namespace mgtune
