// JSON files, gzipped or not.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "system/file_system.h"
#include "core/status.h"
#include "json/json_value.h"

namespace mgtune {

// What stands in it, unpacked. not_found for a file that is not there; corrupt, with the file's
// name, for one that is damaged or larger than 512 MiB.
Result<std::string> read_document(FileSystem& files, const std::string& path);

// corrupt, with the file's name, for what is no JSON. `wanted` as parse_json() has it.
Result<JsonValue> parse_document(const std::string& path, std::string_view text,
                                 const std::function<bool(std::string_view key)>& wanted = nullptr);

// What is wrong inside a file is the file's fault, not that of the words that name it.
Status as_corrupt(Status failure);

}  // namespace mgtune
