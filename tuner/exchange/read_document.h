// Reads JSON files, gzipped or not. The result is the plain content, a recorded space, or results
// that mgtune exported. The format is recognized by the content.
//
// io if a file cannot be read. corrupt, with the file's name and the place in it, for
// everything that is wrong inside. One thread per call, and per catalog.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "exchange/recorded_space.h"
#include "family/catalog.h"
#include "json/json_value.h"
#include "store/import.h"
#include "system/file_system.h"

namespace mgtune {

// The unpacked content of a file. corrupt if it is damaged or larger than 512 MiB.
Result<std::string> read_document(FileSystem& files, const std::string& path);

// corrupt, with the file's name, if it is not JSON. `wanted` is passed to parse_json().
Result<JsonValue> parse_document(const std::string& path, std::string_view text,
                                 const std::function<bool(std::string_view key)>& wanted = nullptr);

// Changes invalid_argument into corrupt: what the user typed is right, but the file is not.
Status as_corrupt(Status failure);

// A Kernel Tuner cache or T4 results. We also export T4.
Result<RecordedSpace> read_recorded_space(FileSystem& files, const std::string& path);

// Reads exports in any format that can be read, for Store::import_results(). Reads all files
// together and returns nothing unless all are right. incompatible for a newer format. corrupt also
// if a file is not one of our exports, has something that the operators here do not offer, or has
// something twice, in one file or in two. `command` is the command of the imported sweeps.
Result<std::vector<ImportedSweep>> read_results(FileSystem& files,
                                                const std::vector<std::string>& paths,
                                                Catalog& catalog, const std::string& command);

}  // namespace mgtune
