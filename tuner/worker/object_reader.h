// ObjectReader: takes a JSON object apart key by key and remembers the first thing that is wrong
// with it: a missing, mistyped or unknown key. A number that is not finite is one of the strings
// that number_or_word() makes of it. Refers to the JSON, which outlives it; one thread.

#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/status.h"

namespace mgtune {

using Json = nlohmann::ordered_json;

Json number_or_word(double value);  // "inf", "-inf" and "nan" for those that JSON has not

class ObjectReader {
 public:
  // `where` stands in front of what is wrong.
  ObjectReader(const Json& json, std::string where);

  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  const Json& value(const char* key);  // null, and wrong, when it is missing

  void read(const char* key, std::string& out);
  void read(const char* key, double& out);

  template <typename Integer>
  requires std::is_integral_v<Integer>
  void read(const char* key, Integer& out) {
    const Json& json = value(key);
    const bool fits =
        json.is_number_unsigned()
            ? std::in_range<Integer>(json.get<std::uint64_t>())
            : json.is_number_integer() && std::in_range<Integer>(json.get<std::int64_t>());
    if (fits) {
      out = json.get<Integer>();
    } else {
      fail(std::string(key) + ": expected an integer");
    }
  }

  template <typename Value>
  void read(const char* key, std::vector<Value>& out) {
    const Json& json = value(key);
    if (!json.is_array()) return fail(std::string(key) + ": expected an array");
    for (const Json& item : json) {
      const Json wrapped = {{key, item}};
      ObjectReader inner(wrapped, where_);
      inner.read(key, out.emplace_back());
      if (!inner.failure_.empty()) failure_ = inner.failure_;
    }
  }

  // A word for one of several values; `kind` is what they are in messages.
  template <typename Value>
  void read_word(const char* key, Value& out, std::optional<Value> (*from_string)(std::string_view),
                 const char* kind) {
    std::string text;
    read(key, text);
    if (const std::optional<Value> value = from_string(text)) {
      out = *value;
    } else {
      fail(std::string(key) + ": no " + kind + " is called \"" + text + '"');
    }
  }

  // An object of a type that has a read_fields(ObjectReader&, Record&).
  template <typename Record>
  void read_object(const char* key, Record& out) {
    ObjectReader inner(value(key), key);
    read_fields(inner, out);
    adopt(inner);
  }
  template <typename Record>
  void read_optional(const char* key, std::optional<Record>& out) {
    if (has(key)) read_object(key, out.emplace());
  }

  void fail(const std::string& what);
  void adopt(ObjectReader& inner);  // what is wrong with it, once all of it was read

  // After everything was read: corrupt for what went wrong, or for a key that nothing asked for.
  Status finish();

 private:
  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
  std::string failure_;
};

}  // namespace mgtune
