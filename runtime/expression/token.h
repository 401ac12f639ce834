// Splits the text of an expression into tokens, and writes messages that point at a place in it.
// Pure functions. Internal to this folder.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mgtune {

struct Token {
  // A `real` has a point or an exponent. A `quoted` is in single quotes.
  enum class Kind : std::uint8_t { end, number, real, name, quoted, sign, unknown };
  Kind kind = Kind::end;
  std::string_view text;  // of the expression; empty at its end
  std::size_t place = 0;

  std::size_t end() const { return place + text.size(); }
};

// The first token at or after `place`; blanks are skipped. A dotted name is one token.
Token token_at(std::string_view text, std::size_t place);

std::string in_quotes(std::string_view word);  // 'word'

// `message`, then the text and a line that underlines `length` bytes from `place`.
std::string with_caret(std::string message, std::string_view text, std::size_t place,
                       std::size_t length);

}  // namespace mgtune
