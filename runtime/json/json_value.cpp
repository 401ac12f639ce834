#include "json/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "json/json.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxLevels = 32;

// In an object with this many keys or more, keys are looked up by hash: a recorded space has an
// object with 20,000 keys.
constexpr std::size_t kManyKeys = 32;

std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

// Builds the value from the events of nlohmann's parser.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const std::function<bool(std::string_view)>& wanted)
      : text_(text), wanted_(wanted) {}

  JsonValue take_value() { return std::move(root_); }
  std::string take_message() { return std::move(message_); }

  bool null() override { return attach({}); }
  bool boolean(bool value) override {
    return attach({.kind = JsonValue::Kind::boolean, .boolean = value});
  }
  bool number_integer(std::int64_t value) override { return integer(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > INT64_MAX) return fail_number(std::to_string(value));
    return integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& word) override {
    if (word.find_first_of(".eE") == std::string::npos) return fail_number(word);
    return attach({.kind = JsonValue::Kind::number, .number = value, .string = word});
  }
  bool string(std::string& value) override {
    return attach({.kind = JsonValue::Kind::string, .string = std::move(value)});
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t /*size*/) override { return open(JsonValue::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    if (skipped_levels_ > 0) return true;
    if (wanted_ && !wanted_(key)) {
      skips_next_ = true;
      return true;
    }
    if (!is_new(key)) return fail(fmt::format("duplicate key '{}'", key), open_.size() - 1);
    open_.back().keys.push_back(std::move(key));
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string_view reason = exception.what();
    reason.remove_prefix(std::min(reason.size(), reason.find("] ") + 2));
    if (reason.starts_with("parse error")) reason.remove_prefix(reason.find(": ") + 2);
    message_ = line_and_column(text_, position) + ": " + std::string(reason);
    // The reason quotes the text, whose malformed part may be a byte that is not UTF-8.
    std::ranges::replace_if(
        message_, [](char c) { return static_cast<signed char>(c) < 0; }, '?');
    return false;
  }

 private:
  bool integer(std::int64_t value) {
    return attach({.kind = JsonValue::Kind::integer,
                   .integer = value,
                   .number = static_cast<double>(value),
                   .string = std::to_string(value)});
  }

  // Whether the innermost object does not have the key yet.
  bool is_new(const std::string& key) {
    const std::vector<std::string>& keys = open_.back().keys;
    if (keys.size() < kManyKeys) return std::ranges::find(keys, key) == keys.end();
    std::unordered_set<std::string>& seen = seen_[open_.size() - 1];
    if (keys.size() == kManyKeys) seen = {keys.begin(), keys.end()};
    return seen.insert(key).second;
  }

  bool skips() const { return skips_next_ || skipped_levels_ > 0; }

  bool open(JsonValue::Kind kind) {
    if (skips()) {
      skips_next_ = false;
      ++skipped_levels_;
      return true;
    }
    if (open_.size() == kMaxLevels) return fail("nested too deeply", open_.size());
    open_.emplace_back().kind = kind;
    return true;
  }

  bool close() {
    if (skipped_levels_ > 0) {
      --skipped_levels_;
      return true;
    }
    JsonValue node = std::move(open_.back());
    open_.pop_back();
    return attach(std::move(node));
  }

  bool attach(JsonValue node) {
    if (skips()) {
      skips_next_ = false;
      return true;
    }
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(node);
    return true;
  }

  bool fail_number(const std::string& word) {
    if (skips()) return attach({});
    return fail(fmt::format("the number {} does not fit into 64 bits", word), open_.size());
  }

  // The message names the JSON pointer that the first `levels` open values make.
  bool fail(std::string message, std::size_t levels) {
    std::string pointer;
    for (std::size_t level = 0; level < levels; ++level) {
      const JsonValue& value = open_[level];
      pointer += "/";
      pointer += value.kind == JsonValue::Kind::object ? pointer_step(value.keys.back())
                                                       : std::to_string(value.items.size());
    }
    message_ = pointer.empty() ? std::move(message) : pointer + ": " + message;
    return false;
  }

  std::string_view text_;
  JsonValue root_;
  std::vector<JsonValue> open_;
  std::array<std::unordered_set<std::string>, kMaxLevels> seen_;  // of objects with many keys
  const std::function<bool(std::string_view)>& wanted_;
  bool skips_next_ = false;         // the value of a key that is not wanted
  std::size_t skipped_levels_ = 0;  // open ones below such a key
  std::string message_;
};

void append_canonical(std::string& text, const JsonValue& value) {
  const bool object = value.kind == JsonValue::Kind::object;
  switch (value.kind) {
    case JsonValue::Kind::null:
      text += "null";
      return;
    case JsonValue::Kind::boolean:
      text += value.boolean ? "true" : "false";
      return;
    case JsonValue::Kind::integer:
    case JsonValue::Kind::number:
      text += value.string;
      return;
    case JsonValue::Kind::string:
      text += Json(value.string).compact_text();
      return;
    case JsonValue::Kind::array:
    case JsonValue::Kind::object:
      break;
  }
  std::vector<std::size_t> order(value.items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (object) std::ranges::sort(order, {}, [&value](std::size_t i) { return value.keys[i]; });
  text += object ? '{' : '[';
  for (const std::size_t i : order) {
    if (i != order.front()) text += ',';
    if (object) {
      text += Json(value.keys[i]).compact_text() + ':';
    }
    append_canonical(text, value.items[i]);
  }
  text += object ? '}' : ']';
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

void JsonValue::erase(std::string_view key) {
  const auto found = std::ranges::find(keys, key);
  if (found == keys.end()) return;
  items.erase(items.begin() + (found - keys.begin()));
  keys.erase(found);
}

Result<JsonValue> parse_json(std::string_view text,
                             const std::function<bool(std::string_view key)>& wanted) {
  Builder builder(text, wanted);
  if (!nlohmann::json::sax_parse(text, &builder)) return invalid_argument(builder.take_message());
  return builder.take_value();
}

std::string canonical_json(const JsonValue& value) {
  std::string text;
  append_canonical(text, value);
  return text;
}

void merge_json(JsonValue& value, JsonValue patch) {
  if (patch.kind != JsonValue::Kind::object) {
    value = std::move(patch);
    return;
  }
  if (value.kind != JsonValue::Kind::object) {
    value = {};
    value.kind = JsonValue::Kind::object;
  }
  value.file = patch.file;
  std::vector<std::string> removed;
  std::size_t next = value.keys.size();  // the place of a new member
  for (std::size_t i = 0; i < patch.keys.size(); ++i) {
    const auto found = std::ranges::find(value.keys, patch.keys[i]);
    const bool is_new = found == value.keys.end();
    const bool removes = patch.items[i].kind == JsonValue::Kind::null;
    if (is_new && removes) continue;
    const std::size_t place = is_new ? next : static_cast<std::size_t>(found - value.keys.begin());
    const auto offset = static_cast<std::ptrdiff_t>(place);
    if (is_new) {
      value.keys.insert(value.keys.begin() + offset, patch.keys[i]);
      value.items.insert(value.items.begin() + offset, JsonValue());
    }
    if (removes) {
      removed.push_back(patch.keys[i]);
    } else {
      merge_json(value.items[place], std::move(patch.items[i]));
    }
    next = place + 1;
  }
  for (const std::string& key : removed) value.erase(key);
}

std::string pointer_step(std::string_view key) {
  std::string step;
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

}  // namespace mgtune
