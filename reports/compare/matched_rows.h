// MatchedRows: which rows of two tables are compared with each other, and which rows are left.
// Plain data, without locks. Private to this folder.

#pragma once

#include <utility>
#include <vector>

#include "compare/measured_table.h"

namespace mgtune {

// Rows of the two tables, which must outlive it.
struct MatchedRows {
  std::vector<std::pair<const MeasuredRow*, const MeasuredRow*>> pairs;
  std::vector<const MeasuredRow*> rest_a, rest_b;  // without a partner
};

// Every row with the row of the same name. If a name stands twice in a table, its first row counts,
// because a document may have the time of one variant twice.
MatchedRows match_variants(const MeasuredTable& a, const MeasuredTable& b);

// For each problem: the variant that A picked, with the time of the same variant in B. If B picked
// another variant, A's pick is compared with B's pick too, because this is the change that programs
// see. A pick of A that B has not timed stays in `rest_a` if B has no pick for the problem, or if
// the variant failed in B.
MatchedRows match_picks(const MeasuredTable& a, const MeasuredTable& b);

}  // namespace mgtune
