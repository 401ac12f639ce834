// ObjectReader: reads the members of a JSON object one by one and remembers the first thing that is
// wrong with it: a missing, mistyped or unknown key. For messages between processes, whose objects
// have many members. Refers to the cursor's file and value, which outlive it; one thread.

#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "json/json.h"
#include "json/json_cursor.h"

namespace mgtune {

// The inverse of JsonCursor::read(double&): "inf", "-inf" and "nan" for numbers that JSON lacks.
Json number_or_word(double value);

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
