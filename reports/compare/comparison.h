// Comparison: two measured tables side by side, old (A) and new (B). It has the rows that both
// tables have, judged by the noise rule, and what happened to the others. By default these are the
// rows of picks, because programs run no other variants. Plain data; pure functions.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare/measured_table.h"
#include "compare/noise_rule.h"
#include "core/status.h"

namespace mgtune {

struct ComparisonOptions {
  bool all_variants = false;  // not only the picks
  bool emulation = false;     // times of the cpu device too
  // The smallest change that counts, instead of the rule's.
  std::optional<double> threshold = std::nullopt;
};

struct ComparedRow {
  MeasuredRow a, b;  // different variants if A and B picked different ones
  Difference difference;

  bool is_pick() const { return a.is_pick || b.is_pick; }
};

// Whether this reason for a missing time is a failure: wrong, crashed, an error of a benchmark. A
// variant that only has no time (raced_out, unstable, unsupported) did not fail.
bool is_failure_reason(const std::string& reason);

// A row that has a time in one table only. `other` is what the other table has for it: an outcome
// or a message, or "" if it has no such row.
struct LoneRow {
  RowName name;
  std::string other;
  bool is_pick = false;

  bool fails_in_other() const { return is_failure_reason(other); }
};

// Rows of one operator, problem and variant whose times must not be compared.
struct Mismatch {
  std::string reason;  // "different GPUs: NVIDIA H200 in A, NVIDIA L4 in B"
  std::size_t rows = 0;
};

struct Comparison {
  std::string file_a, file_b;
  bool all_variants = false;  // of picks alone if false
  // By device, method and operator; the worst verdict first, then the largest difference.
  std::vector<ComparedRow> rows;
  double widening = 1;  // of the noise rule
  std::vector<LoneRow> only_in_a, only_in_b;
  std::vector<Mismatch> mismatches;
  std::vector<std::string> notes;  // cautions: benchmarks of two hosts

  std::size_t count(Verdict verdict) const;
  std::size_t broken() const;  // rows that had a time in A and fail in B
  // Whether a pick is SLOWER or broken. Other variants never are a regression: nobody runs them.
  bool has_regression() const;
  // The row with the worst verdict, and of these the one whose time grew most. Null without rows.
  const ComparedRow* worst() const;
};

// invalid_argument, with the reason, if no row of A can be compared with a row of B and no row of A
// fails in B.
Result<Comparison> compare_tables(MeasuredTable a, MeasuredTable b,
                                  const ComparisonOptions& options = {});

// For a terminal. It begins with the summary.
std::string comparison_text(const Comparison& comparison);
// For a comment on a pull request: the Markdown of GitHub. Rows that are SAME or UNSURE are folded.
std::string comparison_markdown(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);  // reports/README.md has the keys

}  // namespace mgtune
