// JsonCursor: a value of a JSON file together with its place, so that every failure reads
// "kernels/rmsnorm/forward.json: /designs/row/params/VEC/1: expected integer, got \"x\"".
// If the value was merged from several files, a failure names the file in which its value stands.
// The files' names and the value outlive its cursors. Immutable: any number of threads may read.

#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
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

  Result<std::int64_t> integer() const;
  Result<std::int64_t> integer(std::int64_t least, std::int64_t most) const;
  Result<double> number() const;
  Result<bool> boolean() const;
  Result<std::string> string() const;
  Result<std::string> identifier() const;
  Result<DType> dtype() const;
  Result<std::size_t> choice(std::initializer_list<std::string_view> words) const;  // which one

  // The value as what `out` is. A double may also be one of the words "inf", "-inf" and "nan".
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

}  // namespace mgtune
