// JsonValue: a JSON text as plain data. Members keep the order of the file. Pure functions.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace mgtune {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::uint8_t file = 0;  // the index of the file that has the value, if several were merged
  std::int64_t integer = 0;
  double number = 0;                   // set for an integer too
  std::string string = {};             // of a number: its text in the file
  std::vector<JsonValue> items = {};   // of an array, or the values of an object
  std::vector<std::string> keys = {};  // of an object: one for each item, unique

  const JsonValue* find(std::string_view key) const;  // null if it is not there
  void erase(std::string_view key);                   // the member with this key, if there is one
};

// invalid_argument with the place: "line 3, column 7: ..." for malformed text, a JSON pointer for a
// duplicate key, a number that does not fit, or more than 32 levels.
//
// If `wanted` is given, members whose key it refuses are left out, at any depth. So a large file
// costs only the memory of the members that are used.
Result<JsonValue> parse_json(std::string_view text,
                             const std::function<bool(std::string_view key)>& wanted = nullptr);

// The value as text, without blanks and with sorted keys. Values with the same meaning have the
// same text.
std::string canonical_json(const JsonValue& value);

// Applies a merge patch to `value` (RFC 7386): members of objects are merged key by key,
// null removes a member, and everything else replaces what was there. Members keep their places. A
// new member comes after the one that precedes it in the patch, or at the end if it is the patch's
// first.
void merge_json(JsonValue& value, JsonValue patch);

// "a~1b" for the key "a/b", as RFC 6901 has it.
std::string pointer_step(std::string_view key);

}  // namespace mgtune
