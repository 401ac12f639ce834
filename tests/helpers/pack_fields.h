// pack_fields(): what is behind the checksum of a pack, unpacked. Header-only.

#pragma once

#include <string>
#include <string_view>

#include "core/gzip.h"

namespace mgtune {

inline std::string pack_fields(std::string_view pack) {
  for (int line = 0; line < 2; ++line) pack.remove_prefix(pack.find('\n') + 1);
  return gunzip(pack, std::size_t{1} << 30U).value();
}

}  // namespace mgtune
