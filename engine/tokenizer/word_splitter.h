// Cuts a text into the words in which byte-level BPE merges: the patterns of GPT-2, Llama 3 and
// Qwen2. They are regular expressions in tokenizer.json; here each is a function. Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mgtune::engine {

enum class WordPattern : std::uint8_t { gpt2, llama3, qwen2 };

// The pattern that has this regular expression. nullopt for any other.
std::optional<WordPattern> word_pattern(std::string_view regular_expression);

// The words are pieces of `text`, one after the other, and make up all of it. A byte that is not
// UTF-8 counts as a character that is neither letter nor number nor space.
std::vector<std::string_view> split_words(WordPattern pattern, std::string_view text);

}  // namespace mgtune::engine
