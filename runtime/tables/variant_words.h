// VariantWords: the name of a variant's design, and the names and values of its parameters, as
// texts. Exports and imports have variants in this form; they never have names of kernels or
// options of compilers. Pure functions.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "json/json_cursor.h"

namespace mgtune {

class Json;

struct VariantWords {
  std::string design;
  std::vector<std::pair<std::string, std::string>> parameters;  // in the design's order

  std::string text() const;  // in the format of variant_text()
  const std::string* find(std::string_view parameter) const;
};

// The inverse of text(). `text` must be a text of the store.
VariantWords split_variant(std::string_view text);

// Integers ascending, then false and true, then other words in the order of the alphabet.
bool is_value_before(const std::string& a, const std::string& b);

// "4096" becomes an integer and "true" a boolean, as in an operator's file. Every other word
// becomes a string.
Json json_value(const std::string& word);
// The word as Python's str() writes the value: "4096", "True", "cp_async".
std::string python_text(const std::string& word);
// The inverse of json_value(): an integer, a boolean or an identifier.
Result<std::string> value_word(const JsonCursor& value);

}  // namespace mgtune
