// The text form of a build in the build cache; README.md specifies it. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "build/build.h"
#include "core/status.h"

namespace mgtune {

// An entry starts with this text. The number is the version of the format and of the keys.
inline constexpr std::string_view kCacheEntryFormat = "mgtune build 1";

// Whether the text is a SHA-256 in hex. File names (without suffix) and all hashes of an entry must
// be such texts.
bool is_sha256_hex(std::string_view text);

std::string encode_cache_entry(const Build& build);

// The key in an entry. "" if it has none.
std::string cache_entry_key(std::string_view entry);

// The header of an entry: the build without its binary, and the place where the binary begins.
// corrupt if the first bytes are not a header that encode_cache_entry() writes for this key.
struct CacheHeader {
  Build build;
  std::size_t bytes = 0;
};
Result<CacheHeader> decode_cache_header(const std::string& key, std::string_view entry);

// Decodes a whole entry. corrupt if even one bit differs from what encode_cache_entry() writes for
// this key.
Result<Build> decode_cache_entry(const std::string& key, std::string_view entry);

}  // namespace mgtune
