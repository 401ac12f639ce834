// Reads results that mgtune exported, in any format that can be read, gzipped or not. The content
// decides the format. The result is the argument of Store::import_results().

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/catalog.h"
#include "store/import.h"
#include "system/file_system.h"

namespace mgtune {

// Reads all files together and returns nothing unless all are right. not_found if a file does not
// exist. incompatible for a newer format. corrupt, with the file's name and the place in it, if it
// is not one of our exports, has something that the operators here do not offer, or has something
// twice, in one file or in two. `command` is the command of the imported sweeps. One thread per
// catalog.
Result<std::vector<ImportedSweep>> read_results(FileSystem& files,
                                                const std::vector<std::string>& paths,
                                                Catalog& catalog, const std::string& command);

}  // namespace mgtune
