#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "compare/matched_rows.h"
#include "store/records.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Subject = std::tuple<std::string, std::string, std::string>;
Subject subject(const RowName& name) { return {name.op, name.problem, name.variant}; }

// A pick without a partner is held against the pick of the same problem, whatever its variant is.
Subject subject(const RowName& name, bool all_variants) {
  return all_variants || name.op.empty() ? subject(name) : Subject(name.op, name.problem, "");
}

bool has_details(const MeasuredTable& table) {
  return std::ranges::none_of(
      table.rows, [](const MeasuredRow& row) { return row.name.device_details.empty(); });
}

// The drivers of two runs may report different memories of one GPU. The rows of B then get the
// details of the GPU in A.
void name_gpus_alike(const MeasuredTable& a, MeasuredTable& b) {
  std::map<std::string, std::string> names;
  for (const auto& [details_b, gpu_b] : b.gpus) {
    for (const auto& [details_a, gpu_a] : a.gpus) {
      if (is_same_gpu(gpu_a, gpu_b)) names.try_emplace(details_b, details_a);
    }
    if (a.gpus.contains(details_b)) names[details_b] = details_b;
  }
  for (MeasuredRow& row : b.rows) {
    const auto name = names.find(row.name.device_details);
    if (name != names.end()) row.name.device_details = name->second;
  }
}

std::string marked_device(const RowName& name) {
  return name.emulation ? name.device + " (emulation)" : name.device;
}

// The reason why these two rows of one operator, problem and variant are not compared.
std::string reason(const RowName& a, const RowName& b) {
  if (a.emulation != b.emulation) {
    return fmt::format("emulation times are never compared with real ones: {} in A, {} in B",
                       marked_device(a), marked_device(b));
  }
  if (a.device != b.device) {
    return fmt::format("different GPUs: {} in A, {} in B", a.device, b.device);
  }
  if (a.method != b.method) {
    return fmt::format("different methods: {} in A, {} in B", a.method, b.method);
  }
  return fmt::format("different GPUs: {} ({}) in A, {} ({}) in B", a.device, a.device_details,
                     b.device, b.device_details);
}

// Rows without a partner, with what the other table has instead of their time.
std::vector<LoneRow> lone_rows(const std::vector<const MeasuredRow*>& rows,
                               const MeasuredTable& other) {
  std::map<Subject, const UntimedRow*> untimed;
  for (const UntimedRow& row : other.untimed) untimed.try_emplace(subject(row.name), &row);
  std::vector<LoneRow> lone;
  for (const MeasuredRow* row : rows) {
    const auto found = untimed.find(subject(row->name));
    const bool same_device =
        found != untimed.end() && found->second->name.device == row->name.device;
    lone.push_back({row->name, same_device ? found->second->reason : "", row->is_pick});
  }
  return lone;
}

// Sorts the rows without a partner. They are mismatches if both tables have a row that only another
// GPU or method keeps apart, and lone rows otherwise.
void sort_out(const MatchedRows& matched, const MeasuredTable& a, const MeasuredTable& b,
              Comparison& comparison) {
  std::vector<LoneRow> lone_a = lone_rows(matched.rest_a, b);
  std::vector<LoneRow> lone_b = lone_rows(matched.rest_b, a);
  const auto subject_of = [&](const LoneRow& row) {
    return subject(row.name, comparison.all_variants);
  };
  std::map<Subject, const LoneRow*> by_subject;
  for (const LoneRow& row : lone_b) by_subject.try_emplace(subject_of(row), &row);
  std::map<std::string, std::size_t> reasons;
  std::set<Subject> mismatched;
  for (const LoneRow& row : lone_a) {
    const auto other = by_subject.find(subject_of(row));
    if (other == by_subject.end() || row.fails_in_other()) continue;
    ++reasons[reason(row.name, other->second->name)];
    mismatched.insert(other->first);
  }
  for (const auto& [text, rows] : reasons) comparison.mismatches.push_back({text, rows});
  const auto is_mismatched = [&](const LoneRow& row) {
    return mismatched.contains(subject_of(row)) && !row.fails_in_other();
  };
  std::ranges::remove_copy_if(lone_a, std::back_inserter(comparison.only_in_a), is_mismatched);
  std::ranges::remove_copy_if(lone_b, std::back_inserter(comparison.only_in_b), is_mismatched);
}

// Leaves out the emulated times of both tables, and says how many.
void leave_out_emulation(MatchedRows& matched, Comparison& comparison) {
  const std::size_t left_out =
      std::erase_if(matched.pairs, [](const auto& pair) { return pair.first->name.emulation; });
  const auto is_emulated = [](const MeasuredRow* row) { return row->name.emulation; };
  const bool only_emulation = std::ranges::all_of(matched.rest_a, is_emulated) &&
                              std::ranges::all_of(matched.rest_b, is_emulated);
  if (only_emulation) {
    matched.rest_a.clear();
    matched.rest_b.clear();
  }
  if (left_out == 0) return;
  comparison.mismatches.push_back(
      {"emulated times say nothing about a GPU; --emulation compares them all the same", left_out});
}

// Documents of different kinds may have different figures of one measurement.
bool has_same_samples(const ComparedRow& row) {
  return !row.a.figures.empty() && row.a.figures == row.b.figures;
}

void judge_rows(Comparison& comparison, const ComparisonOptions& options) {
  std::vector<TimedPair> pairs;
  for (const ComparedRow& row : comparison.rows) {
    pairs.push_back({row.a.time, row.b.time, row.a.clock, has_same_samples(row)});
  }
  const Judgement judgement = judge(pairs, options.threshold);
  comparison.widening = judgement.widening;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    comparison.rows[i].difference = judgement.differences[i];
  }
}

// Rows that are the same stay in the order of A.
bool shown_before(const ComparedRow& a, const ComparedRow& b) {
  const auto order = [](const ComparedRow& row) {
    const RowName& name = row.a.name;
    const Difference& d = row.difference;
    const double size = d.verdict == Verdict::same ? 0 : std::abs(std::log1p(d.change));
    return std::tuple(name.emulation, name.device, name.device_details, name.method, name.op,
                      d.verdict, -size);
  };
  return order(a) < order(b);
}

std::string summary_of(const MeasuredTable& table) {
  if (table.rows.empty()) return table.file + " has no times";
  std::set<std::string> kinds;
  for (const MeasuredRow& row : table.rows) {
    kinds.insert(fmt::format("{} by {}", marked_device(row.name), row.name.method));
  }
  return fmt::format("{} has {} ({})", table.file, counted(table.rows.size(), "row"),
                     fmt::join(kinds, "; "));
}

Status nothing_to_compare(const MeasuredTable& a, const MeasuredTable& b,
                          const Comparison& comparison) {
  std::string text = fmt::format("nothing to compare: {}, {}", summary_of(a), summary_of(b));
  for (const Mismatch& mismatch : comparison.mismatches) text += "\n" + mismatch.reason;
  if (comparison.mismatches.empty() && !a.rows.empty() && !b.rows.empty()) {
    text += comparison.all_variants ? ", none of them in both" : ", no pick of them in both";
  }
  const auto has_picks = [](const MeasuredTable& table) {
    return table.rows.empty() || std::ranges::any_of(table.rows, &MeasuredRow::is_pick);
  };
  for (const MeasuredTable* table : {&a, &b}) {
    if (comparison.all_variants || has_picks(*table)) continue;
    text += fmt::format("\n{} has no picks; --variants compares all variants", table->file);
  }
  return invalid_argument(text);
}

}  // namespace

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      rows, [&](const ComparedRow& row) { return row.difference.verdict == verdict; }));
}

bool is_failure_reason(const std::string& reason) {
  if (reason.empty() || reason == kNoTime) return false;
  const std::optional<Outcome> outcome = outcome_from_string(reason);
  return outcome != Outcome::raced_out && outcome != Outcome::unstable &&
         outcome != Outcome::unsupported;
}

bool Comparison::has_regression() const {
  return std::ranges::any_of(rows,
                             [](const ComparedRow& row) {
                               return row.is_pick() && row.difference.verdict == Verdict::slower;
                             }) ||
         std::ranges::any_of(
             only_in_a, [](const LoneRow& row) { return row.is_pick && row.fails_in_other(); });
}

const ComparedRow* Comparison::worst() const {
  const auto is_better = [](const ComparedRow& x, const ComparedRow& y) {
    const bool slower_x = x.difference.verdict == Verdict::slower;
    const bool slower_y = y.difference.verdict == Verdict::slower;
    return std::tuple(slower_x, x.difference.change) < std::tuple(slower_y, y.difference.change);
  };
  const auto worst = std::ranges::max_element(rows, is_better);
  return worst != rows.end() ? &*worst : nullptr;
}

std::size_t Comparison::broken() const {
  return static_cast<std::size_t>(std::ranges::count_if(only_in_a, &LoneRow::fails_in_other));
}

Result<Comparison> compare_tables(MeasuredTable a, MeasuredTable b,
                                  const ComparisonOptions& options) {
  // An export has only the model of a GPU, so the model alone must be enough.
  if (!has_details(a) || !has_details(b)) {
    for (MeasuredRow& row : a.rows) row.name.device_details.clear();
    for (MeasuredRow& row : b.rows) row.name.device_details.clear();
  }
  name_gpus_alike(a, b);
  Comparison comparison;
  comparison.file_a = a.file;
  comparison.file_b = b.file;
  comparison.all_variants = options.all_variants;
  MatchedRows matched = options.all_variants ? match_variants(a, b) : match_picks(a, b);
  if (!options.emulation) leave_out_emulation(matched, comparison);
  for (const auto& [row, other] : matched.pairs) comparison.rows.push_back({*row, *other, {}});
  sort_out(matched, a, b, comparison);
  if (comparison.rows.empty() && comparison.broken() == 0) {
    return nothing_to_compare(a, b, comparison);
  }
  judge_rows(comparison, options);
  std::ranges::stable_sort(comparison.rows, shown_before);
  const auto same = std::ranges::count_if(comparison.rows, has_same_samples);
  if (same > 0) {
    comparison.notes.push_back(
        fmt::format("{} of {} {} the same samples in A and in B: that is one measurement, not two",
                    same, counted(comparison.rows.size(), "row"), same == 1 ? "has" : "have"));
  }
  for (const MeasuredTable* table : {&a, &b}) {
    if (!table->caution.empty()) comparison.notes.push_back(table->caution);
  }
  if (a.host != b.host) {
    comparison.notes.push_back(fmt::format(
        "A ran on host '{}', B on '{}': the differences are theirs as well", a.host, b.host));
  }
  return comparison;
}

}  // namespace mgtune
