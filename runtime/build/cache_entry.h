// The text form of a build in the build cache; README.md specifies it. Pure.

#pragma once

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

// corrupt for anything that encode_cache_entry() did not write under this key, to the last bit.
Result<Build> decode_cache_entry(const std::string& key, std::string_view entry);

}  // namespace mgtune
