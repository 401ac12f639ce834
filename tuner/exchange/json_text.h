// JSON as exports have it: one object a line, blanks where a person would put them. Pure.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mgtune {

// {"a": 1, "b": [2, 3]}. What is no UTF-8 becomes U+FFFD.
std::string one_line(const nlohmann::ordered_json& json);

// Lines with a comma and a newline between them, `indent` blanks in front of each.
std::string joined_lines(const std::vector<std::string>& lines, std::size_t indent);

}  // namespace mgtune
