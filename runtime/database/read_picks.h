// Reads what a program needs from a database of results: the picks, and the variants that failed.
//
// The file may have any format up to kNewestFormat, because all of them have the same columns in
// the tables that are read here. Nothing is migrated, and no table of measurements is read. A
// stranger may have made the file: a view, a trigger, a virtual table or a computed column in it is
// refused before a row is read. The words in the rows are not judged here
// (selection/usable_rows.h). Thread-safe, except for functions of a Database.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "database/database.h"
#include "database/pick.h"
#include "database/row.h"

namespace mgtune {

struct StoredPicks {
  std::vector<TunedView> picks;  // copy_ns is 0
  std::vector<FailureView> failures;
};

// Empty if the file lacks the tables, because its writer was killed before they were there. Fails
// as open_to_read() does; corrupt if something in the file is not as mgtune makes it.
Result<StoredPicks> read_picks(const std::string& path);

// The query of picks, and what reads its rows, without copy_ns. The tables are t(uned), g(pus),
// p(roblems), o(perators), v(ariants).
std::string picks_sql(const std::string& where);
TunedView read_pick(Row& row);

// The variants that were wrong, crashed, did not end or could not be launched, unless a newer
// result on the same problem and GPU says otherwise; of one operator, or of all if `op` is empty.
// One indexed query, however many results there are.
Result<std::vector<FailureView>> read_failures(Database& database, const std::string& op = "");

}  // namespace mgtune
