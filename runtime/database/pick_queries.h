// The queries of picks and of failures, for programs (pick_database.h) and for store/. Thread-safe,
// except for functions of one Database.

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

// The query of picks in a file of this format, and what reads its rows, without copy_ns. The tables
// are t(uned), g(pus), p(roblems), o(perators), v(ariants).
std::string picks_sql(const std::string& where, std::int64_t format = kNewestFormat);
TunedView read_pick(Row& row);

// The picks of the kind ?1 on the GPU ?2 (a row id) by their size, from ?3 on upwards, or below it
// downwards: a walk along an index, whatever else is stored. It reads what a plan needs: the view
// has neither an operator nor a GPU, a default or a cost; of its key it has the size. For files
// with keys.
std::string picks_by_size_sql(bool upwards);
TunedView read_pick_by_size(Row& row);

// The variants that were wrong, crashed, did not end or could not be launched, unless a newer
// result on the same problem and GPU says otherwise; of one operator, or of all if `op` is empty.
// From kFormatWithKeys on an index leads to them, however many results there are.
Result<std::vector<FailureView>> read_failures(Database& database, const std::string& op = "",
                                               std::int64_t format = kNewestFormat);

}  // namespace mgtune
