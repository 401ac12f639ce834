#include "tokenizer/word_splitter.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/utf8.h"
#include "tokenizer/unicode_ranges.h"

namespace mgtune::engine {
namespace {

constexpr std::array<std::pair<std::string_view, WordPattern>, 3> kPatterns = {{
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     WordPattern::gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordPattern::llama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordPattern::qwen2},
}};

bool is_in(std::span<const CodeRange> ranges, char32_t code) {
  const auto after = std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

enum class CharacterClass : std::uint8_t { letter, number, space, other, end };

struct Character {
  char32_t code;
  CharacterClass kind;
  std::size_t offset;  // in the text
};

CharacterClass class_of(char32_t code) {
  if (is_in(kLetters, code)) return CharacterClass::letter;
  if (is_in(kNumbers, code)) return CharacterClass::number;
  return is_in(kWhiteSpace, code) ? CharacterClass::space : CharacterClass::other;
}

class WordSplitter {
 public:
  WordSplitter(WordPattern pattern, std::string_view text) : pattern_(pattern), text_(text) {
    for (std::size_t offset = 0; offset < text.size();) {
      const Utf8Character next = decode_utf8(text.substr(offset));
      characters_.push_back({next.code, class_of(next.code), offset});
      offset += next.size;
    }
    characters_.push_back({0, CharacterClass::end, text.size()});
  }

  std::vector<std::string_view> split() const {
    std::vector<std::string_view> words;
    for (std::size_t begin = 0; begin + 1 < characters_.size();) {
      const std::size_t end = word_end(begin);
      const std::size_t offset = characters_[begin].offset;
      words.push_back(text_.substr(offset, characters_[end].offset - offset));
      begin = end;
    }
    return words;
  }

 private:
  // The alternatives of the pattern in their order; the first that matches wins.
  std::size_t word_end(std::size_t begin) const {
    if (const std::size_t end = contraction_end(begin); end != begin) return end;
    if (const std::size_t end = letters_end(begin); end != begin) return end;
    if (const std::size_t end = numbers_end(begin); end != begin) return end;
    if (const std::size_t end = others_end(begin); end != begin) return end;
    return spaces_end(begin);
  }

  std::size_t contraction_end(std::size_t begin) const {
    constexpr std::array<std::u32string_view, 7> kContractions = {U"s", U"t",  U"re", U"ve",
                                                                  U"m", U"ll", U"d"};
    if (characters_[begin].code != '\'') return begin;
    for (const std::u32string_view contraction : kContractions) {
      std::size_t i = 0;
      while (i < contraction.size() && small(begin + 1 + i) == contraction[i]) ++i;
      if (i == contraction.size()) return begin + 1 + i;
    }
    return begin;
  }

  // The lower-case letter, if the pattern ignores case. U+017F (long s) then counts as an s.
  char32_t small(std::size_t index) const {
    const char32_t code = index < characters_.size() ? characters_[index].code : 0;
    if (pattern_ == WordPattern::gpt2) return code;
    if (code == 0x17F) return U's';
    return code >= U'A' && code <= U'Z' ? code + (U'a' - U'A') : code;
  }

  // The end of a run of letters. One character may come before them: in GPT-2 a blank, otherwise
  // anything that is not a number or the end of a line.
  std::size_t letters_end(std::size_t begin) const {
    const Character& first = characters_[begin];
    const bool may_lead = pattern_ == WordPattern::gpt2
                              ? first.code == ' '
                              : first.kind != CharacterClass::number && !is_line_end(begin);
    std::size_t letters = begin;
    if (first.kind != CharacterClass::letter && may_lead) ++letters;
    const std::size_t end = run_end(letters, CharacterClass::letter);
    return end == letters ? begin : end;
  }

  std::size_t numbers_end(std::size_t begin) const {
    if (pattern_ != WordPattern::gpt2) {
      const std::size_t most = pattern_ == WordPattern::llama3 ? 3 : 1;
      return std::min(run_end(begin, CharacterClass::number), begin + most);
    }
    const std::size_t numbers = begin + (characters_[begin].code == ' ' ? 1 : 0);
    const std::size_t end = run_end(numbers, CharacterClass::number);
    return end == numbers ? begin : end;
  }

  std::size_t others_end(std::size_t begin) const {
    const std::size_t others = begin + (characters_[begin].code == ' ' ? 1 : 0);
    std::size_t end = run_end(others, CharacterClass::other);
    if (end == others) return begin;
    while (pattern_ != WordPattern::gpt2 && is_line_end(end)) ++end;
    return end;
  }

  // The end of a run of white space: after its last line end, if there is one (not in GPT-2).
  // Otherwise the last of several characters is left to the word that follows, if there is one.
  std::size_t spaces_end(std::size_t begin) const {
    const std::size_t end = run_end(begin, CharacterClass::space);
    if (pattern_ != WordPattern::gpt2) {
      for (std::size_t i = end; i > begin; --i) {
        if (is_line_end(i - 1)) return i;
      }
    }
    const bool is_last = characters_[end].kind == CharacterClass::end;
    return is_last || end - begin == 1 ? end : end - 1;
  }

  std::size_t run_end(std::size_t begin, CharacterClass kind) const {
    while (begin < characters_.size() && characters_[begin].kind == kind) ++begin;
    return begin;
  }

  bool is_line_end(std::size_t index) const {
    return characters_[index].code == '\r' || characters_[index].code == '\n';
  }

  WordPattern pattern_;
  std::string_view text_;
  std::vector<Character> characters_;  // the last one is the end
};

}  // namespace

std::optional<WordPattern> word_pattern(std::string_view regular_expression) {
  for (const auto& [expression, pattern] : kPatterns) {
    if (expression == regular_expression) return pattern;
  }
  return std::nullopt;
}

std::vector<std::string_view> split_words(WordPattern pattern, std::string_view text) {
  return WordSplitter(pattern, text).split();
}

}  // namespace mgtune::engine
