// Byte-level BPE writes every byte as one printable character: itself if it is printable, otherwise
// one from U+0100 on. Pure functions.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mgtune::engine {

const std::string& character_of_byte(unsigned char byte);

// The bytes that a token's characters stand for. nullopt if a character stands for no byte.
std::optional<std::string> bytes_of_characters(std::string_view characters);

}  // namespace mgtune::engine
