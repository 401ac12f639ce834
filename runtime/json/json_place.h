// The line and the column of a value in a JSON text, for messages: the JSON pointer alone sends a
// reader through the file. Pure, except for reading the file.

#pragma once

#include <string>
#include <string_view>

#include "system/file_system.h"

namespace mgtune {

// "line 12, column 5": where the value at the JSON pointer begins, or, if nothing is there, the
// innermost value around that place. "" if the text is not JSON up to there.
std::string place_in_json(std::string_view text, std::string_view pointer);

// Adds the place to each line like "my_family/add.json: /designs/flat: expected object, got 3" of a
// message: " (line 12, column 5)". For an unknown key it is the place of the key's value. A line
// stays as it is if it names no pointer, or if its file cannot be read.
std::string with_json_place(const std::string& message, FileSystem& file_system);

}  // namespace mgtune
