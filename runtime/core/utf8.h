// UTF-8: one character at a time, and texts whose bytes may not be UTF-8. Pure functions.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgtune {

inline constexpr char32_t kInvalidUtf8 = 0xFFFFFFFF;
inline constexpr std::string_view kUtf8Replacement = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Character {
  char32_t code;     // kInvalidUtf8 if these bytes are not UTF-8
  std::size_t size;  // bytes consumed, at least 1
};

Utf8Character decode_utf8(std::string_view text);  // the first one; the text is not empty

// The text with U+FFFD in place of each byte that is not UTF-8.
std::string valid_utf8(std::string_view text);

}  // namespace mgtune
