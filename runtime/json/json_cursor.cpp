#include "json/json_cursor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/text.h"
#include "core/variant_words.h"

namespace mgtune {
namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t kLongestQuote = 60;

std::string description(const JsonValue& value) {
  if (value.kind == Kind::array) return "an array";
  if (value.kind == Kind::object) return "an object";
  const bool is_long = value.kind == Kind::string && value.string.size() > kLongestQuote;
  return is_long ? "a long string" : canonical_json(value);
}

}  // namespace

bool is_identifier(std::string_view word) {
  constexpr std::string_view kDigitsLast =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !word.empty() && word.find_first_not_of(kDigitsLast) == word.npos &&
         !(word[0] >= '0' && word[0] <= '9');
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

Result<std::int64_t> JsonCursor::integer(std::int64_t min, std::int64_t max) const {
  if (value_->kind == Kind::integer && value_->integer >= min && value_->integer <= max) {
    return value_->integer;
  }
  if (min == max) return unexpected(std::to_string(min));
  return unexpected(fmt::format("an integer from {} to {}", min, max));
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

Result<std::string> JsonCursor::word() const {
  if (value_->kind == Kind::boolean) return std::string(value_->boolean ? "true" : "false");
  if (value_->kind == Kind::integer || value_->kind == Kind::string) return value_->string;
  return unexpected("integer, boolean or string");
}

Result<std::string> JsonCursor::parameter_word() const {
  if (value_->kind == Kind::string && is_value_word(value_->string)) return value_->string;
  if (value_->kind == Kind::string) return identifier();
  if (Result<std::string> word = this->word(); word.ok()) return word;
  return unexpected("integer, boolean or identifier");
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

Status JsonCursor::read(bool& out) const {
  MGTUNE_ASSIGN(out, boolean());
  return {};
}

Status JsonCursor::read(std::string& out) const {
  MGTUNE_ASSIGN(out, string());
  return {};
}

Status JsonCursor::read(double& out) const {
  using Limits = std::numeric_limits<double>;
  constexpr std::array<std::pair<std::string_view, double>, 3> kWords = {
      {{"inf", Limits::infinity()}, {"-inf", -Limits::infinity()}, {"nan", Limits::quiet_NaN()}}};
  for (const auto& [word, value] : kWords) {
    if (value_->kind != Kind::string || value_->string != word) continue;
    out = value;
    return {};
  }
  MGTUNE_ASSIGN(out, number());
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
  members.reserve(value_->keys.size());
  for (std::size_t i = 0; i < value_->keys.size(); ++i) {
    members.push_back(member(value_->keys[i], value_->items[i]));
  }
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

JsonCursor JsonCursor::at(std::string_view key) const { return member(key, *value_->find(key)); }

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  const JsonValue* value = value_->find(key);
  if (value == nullptr) return std::nullopt;
  return member(key, *value);
}

JsonCursor JsonCursor::member(std::string_view key, const JsonValue& value) const {
  JsonCursor member = child(pointer_step(key), value);
  member.key_ = key;
  return member;
}

JsonCursor JsonCursor::child(std::string_view step, const JsonValue& value) const {
  JsonCursor cursor(*files_, value);
  cursor.path_.reserve(path_.size() + 1 + step.size());
  cursor.path_.append(path_).append("/").append(step);
  return cursor;
}

ObjectReader::ObjectReader(const JsonCursor& object) : object_(object) {
  keep(object_.members().status());
}

std::vector<JsonCursor> ObjectReader::read_members(std::string_view key) {
  const std::optional<JsonCursor> value = member(key);
  if (!value) return {};
  Result<std::vector<JsonCursor>> members = value->members();
  keep(members.status());
  return members.ok() ? *std::move(members) : std::vector<JsonCursor>();
}

void ObjectReader::keep(const Status& status) {
  if (failure_.ok() && !status.ok()) failure_ = corrupt(status.message());
}

Status ObjectReader::finish() {
  for (const std::string& key : object_.value().keys) {
    if (!known_.contains(key)) fail(fmt::format("unknown key \"{}\"", key));
  }
  return failure_;
}

std::optional<JsonCursor> ObjectReader::member(std::string_view key) {
  known_.emplace(key);
  if (!has(key)) fail(fmt::format("no key \"{}\"", key));
  return object_.find(key);
}

void ObjectReader::fail_word(std::string_view key, std::string_view kind, std::string_view word) {
  if (has(key)) keep(object_.at(key).error(fmt::format("no {} is called \"{}\"", kind, word)));
}

}  // namespace mgtune
