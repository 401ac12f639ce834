// JsonCursor: a value of a JSON file together with its place, so that every failure reads
// "kernels/rmsnorm/forward.json: /designs/row/params/VEC/1: expected integer, got \"x\"".
// If the value was merged from several files, a failure names the file in which its value stands.
// The files' names and the value outlive its cursors. Immutable: any number of threads may read.

#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "json/json_value.h"

namespace mgtune {

bool is_identifier(std::string_view word);  // of C

class JsonCursor {
 public:
  JsonCursor(const std::string& file, const JsonValue& value) : files_(&file), value_(&value) {}
  // Every JsonValue::file in `value` is an index of `files`.
  JsonCursor(const std::vector<std::string>& files, const JsonValue& value)
      : files_(files.data()), value_(&value) {}

  const JsonValue& value() const { return *value_; }
  const std::string& key() const { return key_; }  // of a member of an object, else ""
  Status error(std::string_view message) const;
  Status unexpected(std::string_view expected) const;  // "expected ..., got ..."

  // The result, or an error() here with the message of its failure.
  template <typename Value>
  Result<Value> located(Result<Value> result) const {
    if (result.ok()) return result;
    return error(result.status().message());
  }

  Result<std::int64_t> integer() const;
  Result<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  Result<double> number() const;
  Result<bool> boolean() const;
  Result<std::string> string() const;
  Result<std::string> identifier() const;
  Result<DType> dtype() const;
  Result<std::size_t> choice(std::initializer_list<std::string_view> words) const;  // which one

  // The value as what `out` is. A double may also be one of the words "inf", "-inf" and "nan".
  Status read(bool& out) const;
  Status read(std::string& out) const;
  Status read(double& out) const;
  template <std::integral Integer>
  Status read(Integer& out) const {
    if (value_->kind != JsonValue::Kind::integer || !std::in_range<Integer>(value_->integer)) {
      return unexpected("integer");
    }
    out = static_cast<Integer>(value_->integer);
    return {};
  }
  template <typename Value>
  Status read(std::vector<Value>& out) const {
    MGTUNE_ASSIGN(const std::vector<JsonCursor> all, elements());
    for (const JsonCursor& element : all) MGTUNE_TRY(element.read(out.emplace_back()));
    return {};
  }

  // A word for one of several values: `words` are in the order of the values.
  template <typename Choice>
  Status read_choice(std::initializer_list<std::string_view> words, Choice& out) const {
    MGTUNE_ASSIGN(const std::size_t index, choice(words));
    out = static_cast<Choice>(index);
    return {};
  }

  // The same for a member of this object, if it is there. expect_keys() says which have to be.
  template <typename Value>
  Status read(std::string_view key, Value& out) const {
    const std::optional<JsonCursor> member = find(key);
    return member ? member->read(out) : Status();
  }
  template <typename Choice>
  Status read_choice(std::string_view key, std::initializer_list<std::string_view> words,
                     Choice& out) const {
    const std::optional<JsonCursor> member = find(key);
    return member ? member->read_choice(words, out) : Status();
  }

  Result<std::vector<JsonCursor>> elements() const;  // of an array
  Result<std::vector<JsonCursor>> members() const;   // of an object

  // That this is an object with every key of `required` and none outside both lists.
  Status expect_keys(std::initializer_list<std::string_view> required,
                     std::initializer_list<std::string_view> optional = {}) const;
  JsonCursor at(std::string_view key) const;  // a key that is there
  std::optional<JsonCursor> find(std::string_view key) const;

 private:
  JsonCursor child(std::string_view step, const JsonValue& value) const;
  Status error_in(std::uint8_t file, std::string_view message) const;

  const std::string* files_;  // the first of them
  const JsonValue* value_;
  std::string path_;
  std::string key_;
};

// Reads the members of a JSON object one by one and remembers the first thing that is wrong with
// it: a missing, mistyped or unknown key. For messages between processes, whose objects have many
// members. Refers to the cursor's file and value, which outlive it; one thread.
class ObjectReader {
 public:
  explicit ObjectReader(const JsonCursor& object);

  bool has(std::string_view key) const { return object_.value().find(key) != nullptr; }

  template <typename Value>
  void read(std::string_view key, Value& out) {
    if (const std::optional<JsonCursor> value = member(key)) keep(value->read(out));
  }

  // A word for one of several values; `kind` is what they are in messages.
  template <typename Value>
  void read_word(std::string_view key, Value& out,
                 std::optional<Value> (*from_string)(std::string_view), std::string_view kind) {
    std::string word;
    read(key, word);
    if (const std::optional<Value> value = from_string(word)) {
      out = *value;
    } else {
      fail_word(key, kind, word);
    }
  }

  // An object of a type that has a read_fields(ObjectReader&, Record&).
  template <typename Record>
  void read_object(std::string_view key, Record& out) {
    const std::optional<JsonCursor> value = member(key);
    if (!value) return;
    ObjectReader inner(*value);
    read_fields(inner, out);
    keep(inner.finish());
  }
  template <typename Record>
  void read_optional(std::string_view key, std::optional<Record>& out) {
    if (has(key)) read_object(key, out.emplace());
  }

  std::vector<JsonCursor> read_members(std::string_view key);  // of an object

  void fail(std::string_view message) { keep(object_.error(message)); }
  void keep(const Status& status);  // if it is the first failure

  // After everything was read: corrupt for what went wrong, or for a key that nothing asked for.
  Status finish();

 private:
  std::optional<JsonCursor> member(std::string_view key);  // nullopt, and wrong, if it is missing
  void fail_word(std::string_view key, std::string_view kind, std::string_view word);

  JsonCursor object_;
  std::set<std::string, std::less<>> known_;
  Status failure_;
};

}  // namespace mgtune
