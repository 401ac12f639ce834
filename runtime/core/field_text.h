// Fields of a text that is written and read in one order: each is a line "<name> <bytes>", that
// many bytes, and a newline. What cache entries and packs are made of. Pure.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mgtune {

void append_field(std::string& text, std::string_view name, std::string_view value);

// Takes fields off the front of a text, in the order that they were appended. After the first one
// that is not as expected, ok() is false and every further value empty. The text outlives it.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  std::string_view text(std::string_view name);
  std::int64_t integer(std::string_view name);  // -1 once ok() is false

 private:
  std::string_view take_line();

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace mgtune
