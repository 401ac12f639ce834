// The queries of picks and of failures, for programs (pick_database.h) and for store/. Thread-safe,
// except that only one thread may use a Database at a time.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "database/database.h"
#include "database/open_file.h"
#include "database/pick.h"
#include "database/row.h"

namespace mgtune {

// The first format in which picks have keys and an index leads to each failure.
inline constexpr std::int64_t kFormatWithKeys = 7;

// The query for picks in a file of this format, and the function that reads its rows. They do not
// read copy_ns. `where` may use the tables t (tuned), g (gpus), p (problems), o (operators) and v
// (variants).
std::string picks_sql(const std::string& where, std::int64_t format = kNewestFormat);
TunedView read_pick(Row& row);

// The query for the picks of the kind ?1 on the GPU with the row id ?2, in the order of their
// sizes: from size ?3 upwards, or below ?3 downwards. It walks along an index, so its cost does not
// depend on what else is stored. It reads only what a plan needs: the view has no operator, GPU,
// default or cost, and of the key it has only the size. Only for files with keys.
std::string picks_by_size_sql(bool upwards);
TunedView read_pick_by_size(Row& row);

// The variants that were wrong, crashed, did not end or could not be launched, unless there is a
// newer result on the same problem and GPU. They are those of one operator, or of all if `op` is
// empty. From kFormatWithKeys on an index finds them, so the cost does not depend on the number of
// results.
Result<std::vector<FailureView>> read_failures(Database& database, const std::string& op = "",
                                               std::int64_t format = kNewestFormat);

}  // namespace mgtune
