// The rows that record() and import_results() have in common, written inside the transaction of the
// caller. Private to store/. One thread at a time per database object.

#pragma once

#include <string>

#include "core/status.h"
#include "store/database.h"
#include "store/records.h"

namespace mgtune {

// As Store::record() and Store::record_tuned() say. recorded_at: "" for what was found elsewhere.
Status write_outcome(Database& database, const OutcomeRecord& outcome,
                     const std::string& recorded_at);
Status write_tuned(Database& database, const TunedRecord& tuned);

}  // namespace mgtune
