// Reads results that mgtune exported, of any format that can be read, gzipped or not, told apart by
// content: what Store::import_results() takes.

#pragma once

#include <string>
#include <vector>

#include "system/file_system.h"
#include "core/status.h"
#include "family/catalog.h"
#include "store/import.h"

namespace mgtune {

// Of all files together: nothing of any unless all are right. not_found for a file that is not
// there; incompatible for a newer format; corrupt, with the file's name and the place in it, for
// what is no export of ours, for what the operators at hand do not offer, and for what stands there
// twice, in one file or in two.
// `command` is what the imported sweeps say of themselves. One thread per catalog.
Result<std::vector<ImportedSweep>> read_results(FileSystem& files,
                                                const std::vector<std::string>& paths,
                                                Catalog& catalog, const std::string& command);

}  // namespace mgtune
