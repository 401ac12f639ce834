// Finds out by the first bytes of a file which kind of tuned rows it holds, and reads the kinds
// that are read whole. Thread-safe.

#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mgtune {

struct SourceFile {
  enum class Kind : std::uint8_t { database, table, pack };
  Kind kind = Kind::database;  // also if it is none of these: opening it fails and says why
  std::string content;         // of a table or a pack
};

// not_found or io, with the name of the file; corrupt for a pack that everybody can write, and for
// a table or pack that is too large.
Result<SourceFile> read_source_file(const std::string& path);

}  // namespace mgtune
