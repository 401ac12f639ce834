// The text form of a build in the build cache; README.md specifies it. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "build/build.h"
#include "core/status.h"

namespace mgtune {

// An entry starts with this text. Its number is that of the format of keys.
inline constexpr std::string_view kCacheEntryFormat = "mgtune build 1";

// For the file name without its suffix, and for every hash in an entry.
bool is_sha256_hex(std::string_view text);

std::string encode_cache_entry(const Build& build);

// The key in an entry. "" if it has none.
std::string cache_entry_key(std::string_view entry);

// The build that an entry begins with, without its binary, and where that begins. corrupt where
// encode_cache_entry() did not write these first bytes under this key.
struct CacheHeader {
  Build build;
  std::size_t bytes = 0;
};
Result<CacheHeader> decode_cache_header(const std::string& key, std::string_view entry);

// The whole entry. corrupt for anything that encode_cache_entry() did not write under this key, to
// the last bit.
Result<Build> decode_cache_entry(const std::string& key, std::string_view entry);

}  // namespace mgtune
