#include "tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/utf8.h"
#include "json/json_cursor.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/word_splitter.h"

namespace mgtune::engine {
namespace {

constexpr std::int64_t kMaxToken = 1 << 24;

struct AddedToken {
  std::string content;
  std::int32_t token = 0;
  bool is_special = false;
};

// What a tokenizer.json says, as far as it matters here.
struct BpeRules {
  std::unordered_map<std::string, std::int32_t> vocabulary;  // by characters
  std::unordered_map<std::uint64_t, PairMerge> merges;       // by pair_key()
  std::vector<AddedToken> added;
  std::vector<std::int32_t> begin;  // tokens that begin every text
  std::optional<WordPattern> pattern;
  bool has_space_before = false;
  bool ignores_merges = false;  // a word that is a token is not merged from its parts
  bool is_normalized = false;   // to the form NFC
  std::uint32_t size = 0;
};

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

// Whether the form NFC of the text may differ from the text. This is so if a character combines
// with the character before it.
bool may_combine(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character next = decode_utf8(text);
    const bool is_mark = (next.code >= 0x300 && next.code < 0x370) ||
                         (next.code >= 0x1161 && next.code < 0x1200) ||
                         (next.code >= 0x3099 && next.code <= 0x309A);
    if (is_mark) return true;
    text.remove_prefix(next.size);
  }
  return false;
}

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeRules rules) : rules_(std::move(rules)), bytes_(rules_.size) {
    for (const auto& [characters, token] : rules_.vocabulary) {
      bytes_[static_cast<std::size_t>(token)] =
          bytes_of_characters(characters).value_or(characters);
    }
    for (const AddedToken& added : rules_.added) {
      bytes_[static_cast<std::size_t>(added.token)] = added.is_special ? "" : added.content;
    }
  }

  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    if (rules_.is_normalized && may_combine(text)) {
      return unsupported(
          "the text has characters that combine with others; write it in the Unicode "
          "form NFC without them");
    }
    std::vector<std::int32_t> tokens = rules_.begin;
    while (!text.empty()) {
      const AddedToken* added = nullptr;
      const std::size_t place = next_added(text, added);
      encode_words(text.substr(0, place), tokens);
      text.remove_prefix(place);
      if (added == nullptr) continue;
      tokens.push_back(added->token);
      text.remove_prefix(added->content.size());
    }
    return tokens;
  }

  std::string decode(std::int32_t /*previous*/, std::int32_t token) const override {
    const bool is_known = token >= 0 && static_cast<std::size_t>(token) < bytes_.size();
    return is_known ? bytes_[static_cast<std::size_t>(token)] : "";
  }

  std::uint32_t size() const override { return rules_.size; }

 private:
  // Returns where the first added token begins; `found` becomes the longest one that begins there.
  // Returns the end of the text if there is none.
  std::size_t next_added(std::string_view text, const AddedToken*& found) const {
    std::size_t first = text.size();
    for (const AddedToken& added : rules_.added) {
      const std::size_t place = text.find(added.content);
      if (place == text.npos || place > first) continue;
      if (place == first && found != nullptr && found->content.size() >= added.content.size()) {
        continue;
      }
      first = place;
      found = &added;
    }
    return first;
  }

  void encode_words(std::string_view text, std::vector<std::int32_t>& tokens) const {
    if (text.empty()) return;
    std::string with_space;
    if (rules_.has_space_before && !text.starts_with(' ')) {
      with_space = fmt::format(" {}", text);
      text = with_space;
    }
    for (const std::string_view word : split_words(*rules_.pattern, text)) {
      encode_word(word, tokens);
    }
  }

  void encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const {
    std::string characters;
    std::vector<std::int32_t> parts;
    for (const char byte : word) {
      const std::string& character = character_of_byte(static_cast<unsigned char>(byte));
      characters += character;
      parts.push_back(rules_.vocabulary.at(character));
    }
    if (rules_.ignores_merges) {
      const auto whole = rules_.vocabulary.find(characters);
      if (whole != rules_.vocabulary.end()) {
        tokens.push_back(whole->second);
        return;
      }
    }
    parts = merge_pairs(std::move(parts), [&](std::int32_t left, std::int32_t right) {
      const auto merge = rules_.merges.find(pair_key(left, right));
      return merge == rules_.merges.end() ? std::optional<PairMerge>() : merge->second;
    });
    tokens.insert(tokens.end(), parts.begin(), parts.end());
  }

  BpeRules rules_;
  std::vector<std::string> bytes_;  // of each token
};

// The member, if it exists and is not null.
std::optional<JsonCursor> part_of(const JsonCursor& object, std::string_view key) {
  std::optional<JsonCursor> member = object.find(key);
  if (member && member->value().kind == JsonValue::Kind::null) return std::nullopt;
  return member;
}

Status not_supported(const JsonCursor& place, std::string_view message) {
  return unsupported(place.error(message).message());
}

Result<std::string> type_of(const JsonCursor& part) {
  const std::optional<JsonCursor> type = part_of(part, "type");
  if (!type) return part.error("type is missing");
  return type->string();
}

// The parts of a Sequence, or the part itself.
Result<std::vector<JsonCursor>> parts_of(const JsonCursor& part, std::string_view list) {
  MGTUNE_ASSIGN(const std::string type, type_of(part));
  if (type != "Sequence") return std::vector<JsonCursor>{part};
  const std::optional<JsonCursor> items = part_of(part, list);
  if (!items) return part.error(fmt::format("{} is missing", list));
  return items->elements();
}

Status read_flag_of(const JsonCursor& part, std::string_view key, bool& flag) {
  const std::optional<JsonCursor> member = part_of(part, key);
  return member ? member->read(flag) : Status();
}

class BpeReader {
 public:
  explicit BpeReader(const JsonCursor& root) : root_(root) {}

  Result<BpeRules> read() {
    if (root_.value().kind != JsonValue::Kind::object) return root_.unexpected("an object");
    const std::optional<JsonCursor> model = part_of(root_, "model");
    if (!model) return root_.error("model is missing");
    MGTUNE_TRY(read_model(*model));
    MGTUNE_TRY(read_added_tokens());
    MGTUNE_TRY(read_normalizer());
    MGTUNE_TRY(read_pre_tokenizer());
    MGTUNE_TRY(read_post_processor());
    return std::move(rules_);
  }

 private:
  Status read_model(const JsonCursor& model) {
    std::string type = "BPE";  // old files do not name the type
    if (const auto member = part_of(model, "type")) MGTUNE_TRY(member->read(type));
    if (type != "BPE") {
      return not_supported(model, fmt::format("its type is {}, but only BPE is supported", type));
    }
    for (const std::string_view key :
         {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const std::optional<JsonCursor> member = part_of(model, key);
      const bool is_empty = member && member->value().kind == JsonValue::Kind::string &&
                            member->value().string.empty();
      if (member && !is_empty) {
        return not_supported(*member, fmt::format("{} is not supported", key));
      }
    }
    bool has_byte_fallback = false;
    MGTUNE_TRY(read_flag_of(model, "byte_fallback", has_byte_fallback));
    if (has_byte_fallback) return not_supported(model, "byte_fallback is not supported");
    MGTUNE_TRY(read_flag_of(model, "ignore_merges", rules_.ignores_merges));
    MGTUNE_TRY(read_vocabulary(model));
    return read_merges(model);
  }

  Status add_size(const JsonCursor& place, std::int64_t token) {
    if (token < 0 || token >= kMaxToken) return place.unexpected("the number of a token");
    rules_.size = std::max(rules_.size, static_cast<std::uint32_t>(token) + 1);
    return {};
  }

  Status read_vocabulary(const JsonCursor& model) {
    const std::optional<JsonCursor> vocabulary = part_of(model, "vocab");
    if (!vocabulary) return model.error("vocab is missing");
    MGTUNE_ASSIGN(const std::vector<JsonCursor> members, vocabulary->members());
    for (const JsonCursor& member : members) {
      MGTUNE_ASSIGN(const std::int64_t token, member.integer());
      MGTUNE_TRY(add_size(member, token));
      rules_.vocabulary.emplace(member.key(), static_cast<std::int32_t>(token));
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::string& character = character_of_byte(static_cast<unsigned char>(byte));
      if (!rules_.vocabulary.contains(character)) {
        return not_supported(*vocabulary,
                             fmt::format("it has no token for the byte 0x{:02X}, so it is not "
                                         "byte-level BPE",
                                         byte));
      }
    }
    return {};
  }

  Status read_merges(const JsonCursor& model) {
    const std::optional<JsonCursor> merges = part_of(model, "merges");
    if (!merges) return model.error("merges is missing");
    MGTUNE_ASSIGN(const std::vector<JsonCursor> all, merges->elements());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      MGTUNE_TRY(read_merge(all[rank], static_cast<double>(rank)));
    }
    return {};
  }

  Status read_merge(const JsonCursor& merge, double rank) {
    std::vector<std::string> pair;
    if (merge.value().kind == JsonValue::Kind::string) {
      const std::string& text = merge.value().string;
      const std::size_t blank = text.find(' ');
      if (blank == text.npos) return merge.unexpected("two tokens with a blank between them");
      pair = {text.substr(0, blank), text.substr(blank + 1)};
    } else {
      MGTUNE_TRY(merge.read(pair));
    }
    if (pair.size() != 2) return merge.error("expected two tokens");
    const auto left = rules_.vocabulary.find(pair[0]);
    const auto right = rules_.vocabulary.find(pair[1]);
    const auto whole = rules_.vocabulary.find(pair[0] + pair[1]);
    if (left == rules_.vocabulary.end() || right == rules_.vocabulary.end() ||
        whole == rules_.vocabulary.end()) {
      return merge.error("the vocabulary does not have the tokens of this merge");
    }
    rules_.merges.emplace(pair_key(left->second, right->second), PairMerge{rank, whole->second});
    return {};
  }

  Status read_added_tokens() {
    const std::optional<JsonCursor> list = part_of(root_, "added_tokens");
    if (!list) return {};
    MGTUNE_ASSIGN(const std::vector<JsonCursor> all, list->elements());
    for (const JsonCursor& item : all) {
      AddedToken added;
      const std::optional<JsonCursor> id = part_of(item, "id");
      const std::optional<JsonCursor> content = part_of(item, "content");
      if (!id || !content) return item.error("id or content is missing");
      MGTUNE_ASSIGN(const std::int64_t token, id->integer());
      MGTUNE_TRY(add_size(*id, token));
      added.token = static_cast<std::int32_t>(token);
      MGTUNE_TRY(content->read(added.content));
      if (added.content.empty()) return content->error("an added token has no text");
      MGTUNE_TRY(read_flag_of(item, "special", added.is_special));
      rules_.added.push_back(std::move(added));
    }
    return {};
  }

  Status read_normalizer() {
    const std::optional<JsonCursor> normalizer = part_of(root_, "normalizer");
    if (!normalizer) return {};
    MGTUNE_ASSIGN(const std::string type, type_of(*normalizer));
    rules_.is_normalized = type == "NFC";
    if (rules_.is_normalized) return {};
    return not_supported(*normalizer, fmt::format("the normalizer {} is not supported", type));
  }

  Status read_pre_tokenizer() {
    const std::optional<JsonCursor> pre = part_of(root_, "pre_tokenizer");
    if (!pre) return not_supported(root_, "there is no pre_tokenizer, so it is not byte-level BPE");
    MGTUNE_ASSIGN(const std::vector<JsonCursor> parts, parts_of(*pre, "pretokenizers"));
    bool is_byte_level = false;
    for (const JsonCursor& part : parts) {
      MGTUNE_ASSIGN(const std::string type, type_of(part));
      if (type == "ByteLevel") {
        is_byte_level = true;
        bool uses_pattern = true;
        rules_.has_space_before = true;
        MGTUNE_TRY(read_flag_of(part, "use_regex", uses_pattern));
        MGTUNE_TRY(read_flag_of(part, "add_prefix_space", rules_.has_space_before));
        if (uses_pattern && rules_.pattern) return not_supported(part, "it splits a second time");
        if (uses_pattern) rules_.pattern = WordPattern::gpt2;
      } else if (type == "Split" && !is_byte_level && !rules_.pattern) {
        MGTUNE_TRY(read_split(part));
      } else {
        return not_supported(part, fmt::format("the pre_tokenizer {} is not supported here", type));
      }
    }
    if (is_byte_level && rules_.pattern) return {};
    return not_supported(*pre, "it is not byte-level BPE");
  }

  Status read_split(const JsonCursor& split) {
    std::string behavior;
    bool is_inverted = false;
    if (const auto member = part_of(split, "behavior")) MGTUNE_TRY(member->read(behavior));
    MGTUNE_TRY(read_flag_of(split, "invert", is_inverted));
    const std::optional<JsonCursor> pattern = part_of(split, "pattern");
    if (!pattern) return split.error("pattern is missing");
    const std::optional<JsonCursor> expression = part_of(*pattern, "Regex");
    if (!expression) return not_supported(*pattern, "only a Regex is supported");
    MGTUNE_ASSIGN(const std::string text, expression->string());
    rules_.pattern = word_pattern(text);
    if (rules_.pattern && behavior == "Isolated" && !is_inverted) return {};
    return not_supported(*expression,
                         "only the patterns of GPT-2, Llama 3 and Qwen2 are supported");
  }

  Status read_post_processor() {
    const std::optional<JsonCursor> post = part_of(root_, "post_processor");
    if (!post) return {};
    MGTUNE_ASSIGN(const std::vector<JsonCursor> parts, parts_of(*post, "processors"));
    for (const JsonCursor& part : parts) {
      MGTUNE_ASSIGN(const std::string type, type_of(part));
      if (type == "ByteLevel") continue;
      if (type != "TemplateProcessing") {
        return not_supported(part, fmt::format("the post_processor {} is not supported", type));
      }
      MGTUNE_TRY(read_template(part));
    }
    return {};
  }

  // Reads the special tokens before the text. Special tokens after the text are not read: they
  // would end the text, but generation has to continue it.
  Status read_template(const JsonCursor& part) {
    const std::optional<JsonCursor> single = part_of(part, "single");
    if (!single) return part.error("single is missing");
    MGTUNE_ASSIGN(const std::vector<JsonCursor> pieces, single->elements());
    for (const JsonCursor& piece : pieces) {
      const std::optional<JsonCursor> special = part_of(piece, "SpecialToken");
      if (!special) break;
      const std::optional<JsonCursor> id = part_of(*special, "id");
      if (!id) return special->error("id is missing");
      MGTUNE_ASSIGN(const std::string content, id->string());
      const auto added = std::ranges::find(rules_.added, content, &AddedToken::content);
      if (added == rules_.added.end()) return id->error("no added token has this text");
      rules_.begin.push_back(added->token);
    }
    return {};
  }

  const JsonCursor& root_;
  BpeRules rules_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> parse_bpe_tokenizer(const std::string& file,
                                                       std::string_view content) {
  Result<JsonValue> value = parse_json(content);
  if (!value.ok()) return corrupt(std::move(value).take_status().with_context(file).message());
  const JsonCursor root(file, *value);
  Result<BpeRules> rules = BpeReader(root).read();
  if (!rules.ok()) {
    const Status status = rules.status();
    return status.code() == StatusCode::unsupported ? status : corrupt(status.message());
  }
  return std::unique_ptr<Tokenizer>(new BpeTokenizer(std::move(*rules)));
}

}  // namespace mgtune::engine
