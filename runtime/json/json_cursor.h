// JsonCursor: a value of a JSON file together with its place, so that every failure reads
// "kernels/rmsnorm/forward.json: /designs/row/params/VEC/1: expected integer, got \"x\"".
// If an object was merged from several files, the failure of a value names the file that has this
// value. The names of the files and the value must outlive all cursors on them. Immutable: any
// number of threads may read.

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

bool is_identifier(std::string_view word);  // whether C accepts the word as a name

class JsonCursor {
 public:
  // The whole value was read from this one file.
  JsonCursor(const std::string& file, const JsonValue& value) : files_(&file), value_(&value) {}
  // Every JsonValue::file in `value` is an index into `files`.
  JsonCursor(const std::vector<std::string>& files, const JsonValue& value)
      : files_(files.data()), value_(&value) {}

  const JsonValue& value() const { return *value_; }
  const std::string& key() const { return key_; }  // the key in the object; "" if not a member
  Status error(std::string_view message) const;
  Status unexpected(std::string_view expected) const;  // "expected ..., got ..."

  // Adds the place to a failure: returns `result` if it is ok, otherwise error() with its message.
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
  Result<std::string> word() const;  // an integer, a boolean or a string: "4096", "true", "bf16"
  // The same, but a string must be a word of a variant (is_value_word()): the inverse of
  // Json::of_word() for the values of parameters.
  Result<std::string> parameter_word() const;
  Result<DType> dtype() const;
  Result<std::size_t> choice(std::initializer_list<std::string_view> words) const;  // its index

  // Writes the value to `out`. It is a failure if the JSON value does not have the type of `out`.
  // For a double, the file may also have one of the strings "inf", "-inf" and "nan".
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

  // Reads a word that names a value of the enum Choice. `words` has one word for each value of the
  // enum, in the order of the enum.
  template <typename Choice>
  Status read_choice(std::initializer_list<std::string_view> words, Choice& out) const {
    MGTUNE_ASSIGN(const std::size_t index, choice(words));
    out = static_cast<Choice>(index);
    return {};
  }

  // Reads the member `key` of this object in the same way. If the object does not have the key,
  // `out` keeps its value. expect_keys() checks that required keys are there.
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

  Result<std::vector<JsonCursor>> elements() const;  // a failure unless this is an array
  Result<std::vector<JsonCursor>> members() const;   // a failure unless this is an object

  // Checks that this is an object that has every key of `required`, and no key that is in neither
  // list.
  Status expect_keys(std::initializer_list<std::string_view> required,
                     std::initializer_list<std::string_view> optional = {}) const;
  JsonCursor at(std::string_view key) const;  // the object must have the key
  std::optional<JsonCursor> find(std::string_view key) const;

 private:
  JsonCursor member(std::string_view key, const JsonValue& value) const;
  JsonCursor child(std::string_view step, const JsonValue& value) const;
  Status error_in(std::uint8_t file, std::string_view message) const;

  const std::string* files_;  // the first file name of an array
  const JsonValue* value_;
  std::string path_;
  std::string key_;
};

// Reads the members of a JSON object one by one and remembers the first mistake: a key that is
// missing or unknown, or a value of the wrong type. It is used for messages between processes,
// because their objects have many members. The cursor's file name and value must outlive the
// reader. One thread.
class ObjectReader {
 public:
  explicit ObjectReader(const JsonCursor& object);

  bool has(std::string_view key) const { return object_.value().find(key) != nullptr; }

  template <typename Value>
  void read(std::string_view key, Value& out) {
    if (const std::optional<JsonCursor> value = member(key)) keep(value->read(out));
  }

  // Reads a word that `from_string` turns into a value. `kind` is the noun in the message for an
  // unknown word: with "outcome" it is: no outcome is called "x".
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

  // Reads a member that is an object. The type Record needs a function
  // read_fields(ObjectReader&, Record&).
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

  std::vector<JsonCursor> read_members(std::string_view key);  // of the object at `key`

  void fail(std::string_view message) { keep(object_.error(message)); }
  void keep(const Status& status);  // remembers the status if it is the first failure

  // Call it after all reads. Returns the first failure, with the code corrupt. A key that no call
  // has read is a failure too.
  Status finish();

 private:
  // If the key is missing, returns nullopt and remembers a failure.
  std::optional<JsonCursor> member(std::string_view key);
  void fail_word(std::string_view key, std::string_view kind, std::string_view word);

  JsonCursor object_;
  std::set<std::string, std::less<>> known_;
  Status failure_;
};

}  // namespace mgtune
