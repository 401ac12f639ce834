#include "core/field_text.h"

#include <algorithm>

#include "core/text.h"

namespace mgtune {

void append_field(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += ' ';
  text += std::to_string(value.size());
  text += '\n';
  text += value;
  text += '\n';
}

bool FieldReader::next_is(std::string_view name) const {
  return rest_.starts_with(name) && rest_.substr(name.size()).starts_with(' ');
}

std::string_view FieldReader::text(std::string_view name) {
  std::string_view line = next_line();
  ok_ = ok_ && line.starts_with(name) && line.substr(name.size()).starts_with(' ');
  if (!ok_) return "";
  const auto size = parse_number<std::size_t>(line.substr(name.size() + 1));
  ok_ = size && *size < rest_.size() && rest_[*size] == '\n';
  if (!ok_) return "";
  const std::string_view value = rest_.substr(0, *size);
  rest_.remove_prefix(*size + 1);
  return value;
}

std::int64_t FieldReader::integer(std::string_view name) {
  const auto value = parse_number<std::int64_t>(text(name));
  ok_ = ok_ && value.has_value();
  return value.value_or(-1);
}

std::string_view FieldReader::next_line() {
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return line;
}

}  // namespace mgtune
