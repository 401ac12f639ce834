// JSON files, gzipped or not.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "json/json_value.h"
#include "system/file_system.h"

namespace mgtune {

// The unpacked content of a file. not_found if the file does not exist; corrupt, with the file's
// name, if it is damaged or larger than 512 MiB.
Result<std::string> read_document(FileSystem& files, const std::string& path);

// corrupt, with the file's name, if it is not JSON. `wanted` is that of parse_json().
Result<JsonValue> parse_document(const std::string& path, std::string_view text,
                                 const std::function<bool(std::string_view key)>& wanted = nullptr);

// An error inside a file is the file's fault, not that of the words that name it.
Status as_corrupt(Status failure);

}  // namespace mgtune
