// Texts that people type and read: numbers, suggestions for misspelt words, the natural order of
// names, lists with commas, and command lines that can be pasted into a shell. Pure functions.

#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mgtune {

// The number that `text` is, in decimal notation. nullopt if `text` has anything else before or
// after the number, or if the type cannot hold the number.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// The number in "4096". nullopt if the number would not give the same text again, as for "007".
std::optional<std::int64_t> whole_number(std::string_view word);

bool is_boolean(std::string_view word);  // "true" or "false"

// "Did you mean": the candidate nearest to a misspelt word. Returns "; did you mean 'rmsnorm'?" for
// the nearest candidate, or "" if none is near. A candidate is near if it differs by at most a
// third of the word's length in edits (insert, delete, change, swap of neighbours).
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// The same for the names of things: did_you_mean(word, op.designs, &Design::name).
template <typename Things, typename NameOf>
std::string did_you_mean(std::string_view word, const Things& things, NameOf name_of) {
  std::vector<std::string> names;
  names.reserve(std::size(things));
  for (const auto& thing : things) names.emplace_back(std::invoke(name_of, thing));
  return did_you_mean(word, names);
}

// What is valid instead of a refused word: "; did you mean 'random'? It must be one of: a, random",
// or only the list if no candidate is near.
std::string must_be_one_of(std::string_view word, std::span<const std::string> candidates);

// Compares texts so that runs of digits compare as numbers: rows=64 comes before rows=4096. Returns
// a number below 0 if `a` comes before `b`, 0 if they are equal, and above 0 otherwise. Texts that
// differ only in leading zeros are equal.
int compare_naturally(std::string_view a, std::string_view b);

// The words between the commas of `list`; an empty text has one empty word.
std::vector<std::string> split_list(std::string_view list);

// Returns `word` as one word of a POSIX shell: unchanged if the shell would neither split nor
// expand it, otherwise in single quotes.
std::string shell_word(std::string_view word);

}  // namespace mgtune
