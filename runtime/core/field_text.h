// A text made of fields that are written and read in the same order. A field is a line "<name>
// <bytes>", that many bytes, and a newline. Cache entries and packs have this form. Pure.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mgtune {

void append_field(std::string& text, std::string_view name, std::string_view value);

// Reads fields from the front of a text, in the order in which they were appended. After the first
// field that is not the expected one, ok() is false and every further value is empty. The text must
// outlive the reader.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  // Whether the next field has this name. For fields that not every text has.
  bool next_is(std::string_view name) const;

  std::string_view text(std::string_view name);
  std::int64_t integer(std::string_view name);  // -1 once ok() is false

 private:
  std::string_view next_line();

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace mgtune
