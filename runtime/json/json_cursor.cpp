#include "json/json_cursor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/suggest.h"

namespace mgtune {
namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t kLongestQuote = 60;

std::string description(const JsonValue& value) {
  switch (value.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return value.boolean ? "true" : "false";
    case Kind::integer:
    case Kind::number:
      return value.string;
    case Kind::string:
      return value.string.size() <= kLongestQuote ? canonical_json(value) : "a long string";
    case Kind::array:
      return "an array";
    case Kind::object:
      break;
  }
  return "an object";
}

bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool continues_identifier(char c) { return starts_identifier(c) || (c >= '0' && c <= '9'); }

}  // namespace

bool is_identifier(std::string_view word) {
  return !word.empty() && starts_identifier(word[0]) &&
         std::ranges::all_of(word, continues_identifier);
}

Status JsonCursor::error(std::string_view message) const { return error_in(value_->file, message); }

Status JsonCursor::error_in(std::uint8_t file, std::string_view message) const {
  if (path_.empty()) return invalid_argument(fmt::format("{}: {}", files_[file], message));
  return invalid_argument(fmt::format("{}: {}: {}", files_[file], path_, message));
}

Status JsonCursor::unexpected(std::string_view expected) const {
  return error(fmt::format("expected {}, got {}", expected, description(*value_)));
}

Result<std::int64_t> JsonCursor::integer() const {
  if (value_->kind != Kind::integer) return unexpected("integer");
  return value_->integer;
}

Result<std::int64_t> JsonCursor::integer(std::int64_t least, std::int64_t most) const {
  if (value_->kind == Kind::integer && value_->integer >= least && value_->integer <= most) {
    return value_->integer;
  }
  if (least == most) return unexpected(std::to_string(least));
  return unexpected(fmt::format("an integer from {} to {}", least, most));
}

Result<double> JsonCursor::number() const {
  if (value_->kind != Kind::integer && value_->kind != Kind::number) return unexpected("number");
  return value_->number;
}

Result<bool> JsonCursor::boolean() const {
  if (value_->kind != Kind::boolean) return unexpected("boolean");
  return value_->boolean;
}

Result<std::string> JsonCursor::string() const {
  if (value_->kind != Kind::string) return unexpected("string");
  return value_->string;
}

Result<std::string> JsonCursor::identifier() const {
  if (value_->kind != Kind::string || !is_identifier(value_->string)) {
    return unexpected("a C identifier");
  }
  return value_->string;
}

Result<DType> JsonCursor::dtype() const {
  MGTUNE_ASSIGN(const std::string word, string());
  if (const auto dtype = dtype_from_string(word)) return *dtype;
  return unexpected("a dtype (f64 f32 f16 bf16 i64 u64 i32 u32 i8 u8)");
}

Result<std::size_t> JsonCursor::choice(std::initializer_list<std::string_view> words) const {
  MGTUNE_ASSIGN(const std::string word, string());
  const auto* const found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  return unexpected(fmt::format("one of {}", fmt::join(words, ", ")));
}

Status JsonCursor::read(std::string& out) const {
  MGTUNE_ASSIGN(out, string());
  return {};
}

Status JsonCursor::read(double& out) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_word = value_->kind == Kind::string;
  if (is_word && value_->string == "inf") {
    out = kInfinity;
  } else if (is_word && value_->string == "-inf") {
    out = -kInfinity;
  } else if (is_word && value_->string == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else {
    MGTUNE_ASSIGN(out, number());
  }
  return {};
}

Result<std::vector<JsonCursor>> JsonCursor::elements() const {
  if (value_->kind != Kind::array) return unexpected("array");
  std::vector<JsonCursor> elements;
  for (std::size_t i = 0; i < value_->items.size(); ++i) {
    elements.push_back(child(std::to_string(i), value_->items[i]));
  }
  return elements;
}

Result<std::vector<JsonCursor>> JsonCursor::members() const {
  if (value_->kind != Kind::object) return unexpected("object");
  std::vector<JsonCursor> members;
  for (const std::string& key : value_->keys) members.push_back(at(key));
  return members;
}

Status JsonCursor::expect_keys(std::initializer_list<std::string_view> required,
                               std::initializer_list<std::string_view> optional) const {
  if (value_->kind != Kind::object) return unexpected("object");
  const auto is_of = [](std::initializer_list<std::string_view> words, std::string_view key) {
    return std::ranges::find(words, key) != words.end();
  };
  for (const std::string& key : value_->keys) {
    if (is_of(required, key) || is_of(optional, key)) continue;
    std::vector<std::string> known(required.begin(), required.end());
    known.insert(known.end(), optional.begin(), optional.end());
    return error_in(value_->find(key)->file,
                    fmt::format("unknown key '{}'{}", key, did_you_mean(key, known)));
  }
  for (const std::string_view key : required) {
    if (value_->find(key) == nullptr) return error(fmt::format("missing key '{}'", key));
  }
  return {};
}

JsonCursor JsonCursor::at(std::string_view key) const {
  JsonCursor member = child(pointer_step(key), *value_->find(key));
  member.key_ = key;
  return member;
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  if (value_->find(key) == nullptr) return std::nullopt;
  return at(key);
}

JsonCursor JsonCursor::child(std::string_view step, const JsonValue& value) const {
  JsonCursor cursor(*files_, value);
  cursor.path_.reserve(path_.size() + 1 + step.size());
  cursor.path_.append(path_).append("/").append(step);
  return cursor;
}

}  // namespace mgtune
