#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "store/records.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Subject = std::tuple<std::string, std::string, std::string>;
Subject subject(const RowName& name) { return {name.op, name.problem, name.variant}; }

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

// Rows by name. The first row of a name counts, because a document may have the time of one variant
// twice.
using RowIndex = std::map<RowName, const MeasuredRow*>;

RowIndex index_of(const MeasuredTable& table) {
  RowIndex index;
  for (const MeasuredRow& row : table.rows) index.try_emplace(row.name, &row);
  return index;
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

// Rows without a partner. They are mismatches if both tables have the operator, problem and
// variant, and lone rows otherwise.
void sort_out(const std::vector<const MeasuredRow*>& a, const std::vector<const MeasuredRow*>& b,
              const MeasuredTable& table_a, const MeasuredTable& table_b, Comparison& comparison) {
  std::map<Subject, const MeasuredRow*> by_subject;
  for (const MeasuredRow* row : b) by_subject.try_emplace(subject(row->name), row);
  std::map<std::string, std::size_t> reasons;
  std::set<Subject> mismatched;
  for (const MeasuredRow* row : a) {
    const auto other = by_subject.find(subject(row->name));
    if (other == by_subject.end()) continue;
    ++reasons[reason(row->name, other->second->name)];
    mismatched.insert(other->first);
  }
  for (const auto& [text, rows] : reasons) comparison.mismatches.push_back({text, rows});

  const auto add_lone = [&](const std::vector<const MeasuredRow*>& rows, const MeasuredTable& other,
                            std::vector<LoneRow>& lone) {
    std::map<Subject, const UntimedRow*> untimed;
    for (const UntimedRow& row : other.untimed) untimed.try_emplace(subject(row.name), &row);
    for (const MeasuredRow* row : rows) {
      if (mismatched.contains(subject(row->name))) continue;
      const auto found = untimed.find(subject(row->name));
      const bool same_device =
          found != untimed.end() && found->second->name.device == row->name.device;
      lone.push_back({row->name, same_device ? found->second->reason : ""});
    }
  };
  add_lone(a, table_b, comparison.only_in_a);
  add_lone(b, table_a, comparison.only_in_b);
}

// Documents of different kinds may have different figures of one measurement.
bool has_same_samples(const ComparedRow& row) {
  return !row.a.figures.empty() && row.a.figures == row.b.figures;
}

void judge_rows(Comparison& comparison) {
  std::vector<TimedPair> pairs;
  for (const ComparedRow& row : comparison.rows) {
    pairs.push_back({row.a.time, row.b.time, row.a.clock, has_same_samples(row)});
  }
  const Judgement judgement = judge(pairs);
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
    text += ", none of them in both";
  }
  return invalid_argument(text);
}

}  // namespace

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      rows, [&](const ComparedRow& row) { return row.difference.verdict == verdict; }));
}

bool LoneRow::fails_in_other() const {
  if (other.empty() || other == kNoTime) return false;
  const std::optional<Outcome> outcome = outcome_from_string(other);
  return outcome != Outcome::raced_out && outcome != Outcome::unstable &&
         outcome != Outcome::unsupported;
}

std::size_t Comparison::broken() const {
  return static_cast<std::size_t>(std::ranges::count_if(only_in_a, &LoneRow::fails_in_other));
}

Result<Comparison> compare_tables(MeasuredTable a, MeasuredTable b) {
  // An export has only the model of a GPU, so the model alone must be enough.
  if (!has_details(a) || !has_details(b)) {
    for (MeasuredRow& row : a.rows) row.name.device_details.clear();
    for (MeasuredRow& row : b.rows) row.name.device_details.clear();
  }
  name_gpus_alike(a, b);
  Comparison comparison;
  comparison.file_a = a.file;
  comparison.file_b = b.file;
  const RowIndex rows_a = index_of(a), rows_b = index_of(b);
  std::vector<const MeasuredRow*> rest_a, rest_b;
  for (const MeasuredRow& row : a.rows) {
    if (rows_a.at(row.name) != &row) continue;
    if (const auto other = rows_b.find(row.name); other != rows_b.end()) {
      comparison.rows.push_back({row, *other->second, {}});
    } else {
      rest_a.push_back(&row);
    }
  }
  for (const MeasuredRow& row : b.rows) {
    if (rows_b.at(row.name) == &row && !rows_a.contains(row.name)) rest_b.push_back(&row);
  }
  sort_out(rest_a, rest_b, a, b, comparison);
  if (comparison.rows.empty() && comparison.broken() == 0) {
    return nothing_to_compare(a, b, comparison);
  }
  judge_rows(comparison);
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
