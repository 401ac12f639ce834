// Comparison: two measured tables side by side, old (A) and new (B): the rows that both have,
// judged by the noise rule, and what became of the others. Plain data; pure functions.

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

// A row with a time in one table only. `other` says what the other table has of it: an outcome or a
// message; "" when it has no such row.
struct LoneRow {
  RowName name;
  std::string other;

  // Whether the other table has it as failed: wrong, crashed, an error of a benchmark; not merely
  // as untimed, which raced_out, unstable and unsupported are.
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

// invalid_argument, with the reason, when no row of A can be compared with one of B, nor fails
// there.
Result<Comparison> compare_tables(const MeasuredTable& a, const MeasuredTable& b);

// For a terminal: ends with a newline and a line that sums up.
std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);  // reports/README.md has the keys

}  // namespace mgtune
