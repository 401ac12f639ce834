#include "model/assignments.h"

#include <algorithm>
#include <string>

#include "core/text.h"

namespace mgtune {
namespace {

// Calls word(text) for each part between blanks, the empty ones too.
template <typename Word>
void for_each_word(std::string_view text, Word word) {
  while (true) {
    const std::size_t end = std::min(text.find(' '), text.size());
    word(text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

bool names_twice(const std::vector<Assignment>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (parameters[i].first == parameters[j].first) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view word) {
  const auto number = parse_number<std::int64_t>(word);
  return number && std::to_string(*number) == word ? number : std::nullopt;
}

std::vector<Assignment> assignments(std::string_view text) {
  std::vector<Assignment> result;
  for_each_word(text, [&](std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return;
    result.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  });
  return result;
}

VariantAssignments variant_words(std::string_view text) {
  VariantAssignments words;
  words.design = text.substr(0, text.find(' '));
  if (words.design.size() == text.size()) return words;
  const std::string_view rest = text.substr(words.design.size() + 1);
  bool plain = true;
  for_each_word(rest, [&](std::string_view word) { plain = plain && word.find('=') + 1 > 1; });
  if (!plain) return {text, {}};
  words.parameters = assignments(rest);
  if (names_twice(words.parameters)) return {text, {}};
  return words;
}

}  // namespace mgtune
