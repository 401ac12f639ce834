// VariantWords: the words of a variant's text, for example "row VEC=8 PDL=true": the name of the
// design, and the names and values of its parameters. Reports, exports and imports have variants in
// this form; it never has names of kernels or options of compilers. Pure functions.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mgtune {

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

// Whether a parameter's value may have this text: 1 to 64 letters, digits and "_.:+-*<>&".
bool is_value_word(std::string_view word);

// The text of a parameter's value that is a floating number: "0.5", "2.0", "1e-05". It always has a
// point or an exponent, so it is never the text of an integer.
std::string real_text(double value);
bool is_real_text(std::string_view word);  // whether real_text() writes the word

// Integers ascending, then floating numbers ascending, then false and true, then other words in the
// order of the alphabet.
bool is_value_before(const std::string& a, const std::string& b);

// The word as Python's str() writes the value: "4096", "True", "cp_async".
std::string python_text(const std::string& word);

}  // namespace mgtune
