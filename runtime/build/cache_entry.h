// The text form of an artifact in the build cache; README.md specifies it. Pure.

#pragma once

#include <string>
#include <string_view>

#include "build/artifact.h"
#include "core/status.h"

namespace mgtune {

// Of the file name without its suffix, and of every hash in an entry.
bool is_sha256_hex(std::string_view text);

std::string encode_cache_entry(const Artifact& artifact);

// corrupt for anything that encode_cache_entry() did not write under this key, to the last bit.
Result<Artifact> decode_cache_entry(const std::string& key, std::string_view entry);

}  // namespace mgtune
