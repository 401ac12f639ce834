// VariantWords: a variant as its design and what each parameter is set to, as words. Results leave
// and enter the store in this form, never as kernel names or options. Pure functions.

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

  std::string text() const;  // as variant_text() has it
  const std::string* find(std::string_view parameter) const;
};

// The inverse of text(), of a text from the store.
VariantWords split_variant(std::string_view text);

// Integers ascending, then false and true, then other words in the order of the alphabet.
bool is_value_before(const std::string& a, const std::string& b);

// "4096" is an integer and "true" a boolean in JSON, as in an operator's file; else a text.
Json json_value(const std::string& word);
// As Python's str() writes it: "4096", "True", "cp_async".
std::string python_text(const std::string& word);
// The inverse of json_value(): an integer, a boolean or an identifier.
Result<std::string> value_word(const JsonCursor& value);

}  // namespace mgtune
