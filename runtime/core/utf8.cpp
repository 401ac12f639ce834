#include "core/utf8.h"

#include <array>

namespace mgtune {
namespace {

// The smallest code point that needs a sequence of this length: shorter ones are overlong.
constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};

}  // namespace

Utf8Character decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {kInvalidUtf8, 1};
  char32_t code = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {kInvalidUtf8, 1};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[size] || code > 0x10FFFF || surrogate) return {kInvalidUtf8, 1};
  return {code, size};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = decode_utf8(text);
    valid += character.code == kInvalidUtf8 ? kUtf8Replacement : text.substr(0, character.size);
    text.remove_prefix(character.size);
  }
  return valid;
}

}  // namespace mgtune
