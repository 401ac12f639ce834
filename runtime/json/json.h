// Json: a JSON value that is built up to be written as text. (JsonValue is one that was read.)
//
//   Json row = {{"name", "copy"}, {"sizes", sizes}, {"note", nullptr}};
//   row["time_ns"] = 12.5;
//
// Members keep the order in which they were added. A number that is not finite is written as null,
// and bytes that are not UTF-8 are written as U+FFFD. Owns everything in it; one thread.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mgtune {

class Json {
 public:
  using Member = std::pair<std::string, Json>;  // a key and its value
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(std::initializer_list<Member> members);  // an object
  Json(Array items) : value_(std::move(items)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <typename Text>
  requires std::convertible_to<const Text&, std::string_view> Json(const Text& text)
      : value_(std::string(std::string_view(text))) {}
  template <std::same_as<bool> Boolean>
  Json(Boolean value) : value_(value) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) Json(Integer value) {
    if constexpr (std::signed_integral<Integer>) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  Json(double value) : value_(value) {}
  template <typename Value>
  Json(const std::optional<Value>& value) {  // null if there is none
    if (value) *this = Json(*value);
  }
  template <std::ranges::input_range Range>
  requires(!std::convertible_to<const Range&, std::string_view>) Json(const Range& range) {
    Array& items = value_.emplace<Array>();
    for (const auto& item : range) items.push_back(Json(item));
  }

  static Json array() { return Array(); }
  // An array with json_of(item) for each item.
  template <typename Items, typename JsonOf>
  static Json array(const Items& items, const JsonOf& json_of) {
    Array array;
    array.reserve(std::size(items));
    for (const auto& item : items) array.push_back(json_of(item));
    return array;
  }
  static Json object() { return Json(std::initializer_list<Member>()); }
  // The value that an operator's file has for a word: an integer for "4096", a boolean for "true",
  // and a string for every other word, for example "007".
  static Json of_word(std::string_view word);

  Json& operator[](std::string_view key);  // of an object; added as null if it is missing
  void push_back(Json item);               // to an array
  Json& back();                            // of an array with an item
  void update(Json object);                // sets each member of the other object in this one

  std::string compact_text() const;   // {"a":1,"b":[2,3]}
  std::string line_text() const;      // {"a": 1, "b": [2, 3]}
  std::string document_text() const;  // indented by two blanks, and a newline at the end

 private:
  struct Layout;
  std::string text(const Layout& layout) const;
  void append_to(std::string& text, const Layout& layout, std::size_t level) const;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

// The inverse of JsonCursor::read(double&): "inf", "-inf" and "nan" for numbers that JSON lacks.
Json number_or_word(double value);

}  // namespace mgtune
