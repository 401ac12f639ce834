#include "tokenizer/byte_characters.h"

#include <array>
#include <map>

#include "core/utf8.h"

namespace mgtune::engine {
namespace {

struct ByteCharacters {
  std::array<std::string, 256> characters;
  std::map<char32_t, char> bytes;
};

ByteCharacters make_byte_characters() {
  ByteCharacters table;
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool is_printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t code = is_printable ? byte : next++;
    table.bytes.emplace(code, static_cast<char>(byte));
    // All codes are below U+0800: one or two bytes of UTF-8.
    table.characters[byte] = code < 0x80 ? std::string{static_cast<char>(code)}
                                         : std::string{static_cast<char>(0xC0 | code >> 6),
                                                       static_cast<char>(0x80 | (code & 0x3F))};
  }
  return table;
}

const ByteCharacters& byte_characters() {
  static const ByteCharacters table = make_byte_characters();
  return table;
}

}  // namespace

const std::string& character_of_byte(unsigned char byte) {
  return byte_characters().characters[byte];
}

std::optional<std::string> bytes_of_characters(std::string_view characters) {
  std::string bytes;
  while (!characters.empty()) {
    const Utf8Character next = decode_utf8(characters);
    const auto found = byte_characters().bytes.find(next.code);
    if (found == byte_characters().bytes.end()) return std::nullopt;
    bytes += found->second;
    characters.remove_prefix(next.size);
  }
  return bytes;
}

}  // namespace mgtune::engine
