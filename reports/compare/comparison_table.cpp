#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "compare/comparison.h"
#include "compare/comparison_words.h"
#include "text/printable.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Align = TextTable::Align;

bool same_heading(const RowName& a, const RowName& b) {
  return a.op == b.op && a.device == b.device && a.device_details == b.device_details &&
         a.method == b.method && a.emulation == b.emulation;
}

std::string rows_text(std::span<const ComparedRow> rows) {
  TextTable table({{"verdict"},
                   {"change", Align::right},
                   {"95 % interval", Align::right},
                   {"counts from", Align::right},
                   {"A", Align::right},
                   {"B", Align::right},
                   {"problem"},
                   {"variant"}});
  for (const ComparedRow& row : rows) {
    const Difference& d = row.difference;
    const bool raised = d.smallest_that_counts > smallest_that_counts(row.a.clock);
    table.add_row({std::string(to_string(d.verdict)), change_text(d.change),
                   change_text(d.low) + " .. " + change_text(d.high),
                   raised ? percent_text(d.smallest_that_counts) : "",
                   time_text(row.a.time.median_ns), time_text(row.b.time.median_ns),
                   row.a.name.problem, variants_text(row)});
  }
  return printable_line(place_text(rows.front().a.name)) + '\n' + table.text(2);
}

std::string lone_text(const char* title, const char* other, std::span<const LoneRow> rows) {
  if (rows.empty()) return "";
  TextTable table({{"operator"}, {"device"}, {"problem"}, {other}, {"variant"}});
  for (const LoneRow& row : rows) {
    table.add_row({row.name.op, row.name.device, row.name.problem, row.other, row.name.variant});
  }
  return fmt::format("\n{}\n{}", title, table.text(2));
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text = printable_line("A " + comparison.file_a) + '\n' +
                     printable_line("B " + comparison.file_b) + '\n' + '\n';
  for (const std::string& sentence : summary_sentences(comparison)) {
    text += printable_line(sentence) + '\n';
  }
  const std::span<const ComparedRow> rows = comparison.rows;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && same_heading(rows[first].a.name, rows[end].a.name)) ++end;
    text += '\n' + rows_text(rows.subspan(first, end - first));
    first = end;
  }
  const auto broken_first = [](const LoneRow& row) { return row.fails_in_other(); };
  std::vector<LoneRow> only_in_a = comparison.only_in_a;
  const auto others = std::stable_partition(only_in_a.begin(), only_in_a.end(), broken_first);
  text += lone_text("Broken in B", "in B", {only_in_a.begin(), others});
  text += lone_text("Only in A", "in B", {others, only_in_a.end()});
  text += lone_text("Only in B", "in A", comparison.only_in_b);
  std::string notes;
  for (const std::string& sentence : cautions(comparison)) {
    notes += printable_line(sentence) + '\n';
  }
  return notes.empty() ? text : text + '\n' + notes;
}

}  // namespace mgtune
