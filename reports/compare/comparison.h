// Comparison: two measured tables side by side, old (A) and new (B). It has the rows that both
// tables have, judged by the noise rule, and what happened to the others. Plain data; pure
// functions.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compare/measured_table.h"
#include "compare/noise_rule.h"
#include "core/status.h"

namespace mgtune {

struct ComparedRow {
  MeasuredRow a, b;
  Difference difference;
};

// A row that has a time in one table only. `other` is what the other table has for it: an outcome
// or a message, or "" if it has no such row.
struct LoneRow {
  RowName name;
  std::string other;

  // Whether the row failed in the other table: wrong, crashed, an error of a benchmark. A row that
  // only has no time (raced_out, unstable, unsupported) did not fail.
  bool fails_in_other() const;
};

// Rows of one operator, problem and variant whose times must not be compared.
struct Mismatch {
  std::string reason;  // "different GPUs: NVIDIA H200 in A, NVIDIA L4 in B"
  std::size_t rows = 0;
};

struct Comparison {
  std::string file_a, file_b;
  // By device, method and operator; the worst verdict first, then the largest difference.
  std::vector<ComparedRow> rows;
  double widening = 1;  // of the noise rule
  std::vector<LoneRow> only_in_a, only_in_b;
  std::vector<Mismatch> mismatches;
  std::vector<std::string> notes;  // cautions: benchmarks of two hosts

  std::size_t count(Verdict verdict) const;
  std::size_t broken() const;  // rows that had a time in A and fail in B
  bool has_regression() const { return count(Verdict::slower) > 0 || broken() > 0; }
};

// invalid_argument, with the reason, if no row of A can be compared with a row of B and no row of A
// fails in B.
Result<Comparison> compare_tables(MeasuredTable a, MeasuredTable b);

// For a terminal. It ends with a line that sums up, and a newline.
std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);  // reports/README.md has the keys

}  // namespace mgtune
