// VariantWords: the words of a variant's text, for example "row VEC=8 PDL=true": the name of the
// design, and the names and values of its parameters. Reports, exports and imports have variants in
// this form; it never has names of kernels or options of compilers. Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "json/json_cursor.h"

namespace mgtune {

class Json;

using Assignment = std::pair<std::string, std::string>;  // a name and its value

// The assignments of a problem's text, for example "rows=4096 T=bf16". Words without '=' are left
// out.
std::vector<Assignment> assignments(std::string_view text);

struct VariantWords {
  std::string design;
  std::vector<Assignment> parameters;  // in the design's order

  std::string text() const;  // in the format of variant_text()
  const std::string* find(std::string_view parameter) const;
};

// The inverse of text(). If `text` is not a design followed by assignments to different names with
// one blank between words, all of it becomes the design. So the words always give the text again.
VariantWords split_variant(std::string_view text);

// Integers ascending, then false and true, then other words in the order of the alphabet.
bool is_value_before(const std::string& a, const std::string& b);

// The number in "4096". nullopt if the number would not give the same text again.
std::optional<std::int64_t> whole_number(std::string_view word);

// "4096" becomes an integer and "true" a boolean, as in an operator's file. Every other word
// becomes a string, for example "007".
Json json_value(std::string_view word);
// The word as Python's str() writes the value: "4096", "True", "cp_async".
std::string python_text(const std::string& word);
// The inverse of json_value(): an integer, a boolean or an identifier.
Result<std::string> value_word(const JsonCursor& value);

}  // namespace mgtune
