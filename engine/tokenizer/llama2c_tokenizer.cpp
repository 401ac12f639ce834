#include "tokenizer/llama2c_tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/utf8.h"
#include "tokenizer/pair_merger.h"

namespace mgtune::engine {
namespace {

constexpr std::int32_t kBegin = 1;      // begins a text; 0 is unknown and 2 ends it
constexpr std::int32_t kFirstByte = 3;  // 256 tokens for single bytes

struct ScoredToken {
  std::string text;
  float score = 0;
};

// The byte in "<0x0A>".
std::optional<char> byte_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const std::size_t high = kDigits.find(text[3]);
  const std::size_t low = kDigits.find(text[4]);
  if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
  return static_cast<char>(16 * high + low);
}

class Llama2cTokenizer final : public Tokenizer {
 public:
  explicit Llama2cTokenizer(std::vector<ScoredToken> tokens) : tokens_(std::move(tokens)) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      index_.emplace(tokens_[i].text, static_cast<std::int32_t>(i));
    }
  }

  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    std::vector<std::int32_t> pieces;
    if (!text.empty()) {
      // A text begins with a blank, so that its first word is a word like all others.
      add_character(" ", pieces);
    }
    while (!text.empty()) {
      const std::size_t size = decode_utf8(text).size;
      add_character(text.substr(0, size), pieces);
      text.remove_prefix(size);
    }
    std::vector<std::int32_t> tokens =
        merge_pairs(std::move(pieces),
                    [&](std::int32_t left, std::int32_t right) { return merge_of(left, right); });
    tokens.insert(tokens.begin(), kBegin);
    return tokens;
  }

  std::string decode(std::int32_t previous, std::int32_t token) const override {
    if (token < 0 || static_cast<std::size_t>(token) >= tokens_.size()) return "";
    if (token < kFirstByte) return "";
    const std::string& text = tokens_[static_cast<std::size_t>(token)].text;
    if (const std::optional<char> byte = byte_of(text)) return {*byte};
    // The blank that encode() has put before the text.
    const bool is_first = previous == kBegin && text.starts_with(' ');
    return is_first ? text.substr(1) : text;
  }

  std::uint32_t size() const override { return static_cast<std::uint32_t>(tokens_.size()); }

 private:
  void add_character(std::string_view character, std::vector<std::int32_t>& pieces) const {
    if (const auto found = index_.find(std::string(character)); found != index_.end()) {
      pieces.push_back(found->second);
      return;
    }
    for (const char byte : character) {
      pieces.push_back(kFirstByte + static_cast<unsigned char>(byte));
    }
  }

  std::optional<PairMerge> merge_of(std::int32_t left, std::int32_t right) const {
    const auto found = index_.find(tokens_[static_cast<std::size_t>(left)].text +
                                   tokens_[static_cast<std::size_t>(right)].text);
    if (found == index_.end()) return std::nullopt;
    return PairMerge{-double{tokens_[static_cast<std::size_t>(found->second)].score},
                     found->second};
  }

  std::vector<ScoredToken> tokens_;
  std::unordered_map<std::string, std::int32_t> index_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> parse_llama2c_tokenizer(const std::string& file,
                                                           std::string_view content,
                                                           std::uint32_t vocabulary) {
  if (vocabulary < kFirstByte + 256) {
    return invalid_argument(fmt::format(
        "{}: a vocabulary of {} tokens has no room for the 256 bytes", file, vocabulary));
  }
  const auto cut_short = [&](std::size_t token) {
    return corrupt(fmt::format("{}: it ends within token {} of {}", file, token, vocabulary));
  };
  constexpr std::size_t kMaxLengthField = sizeof(std::int32_t);  // its value is not used
  if (content.size() < kMaxLengthField) return cut_short(0);
  content.remove_prefix(kMaxLengthField);
  std::vector<ScoredToken> tokens;
  for (std::size_t i = 0; i < vocabulary; ++i) {
    ScoredToken token;
    std::int32_t length = 0;
    if (content.size() < sizeof(token.score) + sizeof(length)) return cut_short(i);
    std::memcpy(&token.score, content.data(), sizeof(token.score));
    std::memcpy(&length, content.data() + sizeof(token.score), sizeof(length));
    content.remove_prefix(sizeof(token.score) + sizeof(length));
    if (std::isnan(token.score)) {
      return corrupt(fmt::format("{}: the score of token {} is not a number", file, i));
    }
    if (length < 0 || static_cast<std::size_t>(length) > content.size()) return cut_short(i);
    token.text = content.substr(0, static_cast<std::size_t>(length));
    content.remove_prefix(static_cast<std::size_t>(length));
    tokens.push_back(std::move(token));
  }
  if (!content.empty()) {
    return corrupt(
        fmt::format("{}: {} bytes follow its {} tokens", file, content.size(), vocabulary));
  }
  return std::unique_ptr<Tokenizer>(new Llama2cTokenizer(std::move(tokens)));
}

}  // namespace mgtune::engine
