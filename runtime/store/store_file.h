// Opening a store's file: what is there is looked at through a read-only connection before
// anything is written, so that a damaged, newer or foreign file stays as it was, byte for byte.
// Private to store/. One thread at a time per database object.

#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "store/database.h"
#include "store/store.h"

namespace mgtune {

// corrupt, incompatible, io, or not_found as Store::open says.
Result<std::unique_ptr<Database>> open_store_file(const std::string& path, Store::Mode mode);

// Before the last writer closes: folds the write-ahead log into the file and leaves DELETE mode, so
// that a store at rest is one file, readable from read-only media and copied with cp. Without
// effect while another process has the file open.
void leave_at_rest(Database& database);

}  // namespace mgtune
