#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "compare/comparison.h"
#include "text/printable.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

using Align = TextTable::Align;

std::string change_text(double change) { return fmt::format("{:+.1f} %", 100 * change); }

bool same_heading(const RowName& a, const RowName& b) {
  return a.op == b.op && a.device == b.device && a.device_details == b.device_details &&
         a.method == b.method && a.emulation == b.emulation;
}

// "rmsnorm.forward on NVIDIA H200, rotating"; "Benchmarks, cpu time".
std::string heading(const RowName& name) {
  if (name.op.empty()) return fmt::format("Benchmarks, {}", name.method);
  return printable_line(fmt::format("{} on {}{}, {}", name.op, name.device,
                                    name.emulation ? " (emulation)" : "", name.method));
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
                   row.a.name.problem, row.a.name.variant});
  }
  return heading(rows.front().a.name) + '\n' + table.text(2);
}

std::string lone_text(const char* title, const char* other, std::span<const LoneRow> rows) {
  if (rows.empty()) return "";
  TextTable table({{"operator"}, {"device"}, {"problem"}, {other}, {"variant"}});
  for (const LoneRow& row : rows) {
    table.add_row({row.name.op, row.name.device, row.name.problem, row.other, row.name.variant});
  }
  return fmt::format("\n{}\n{}", title, table.text(2));
}

std::string summary_line(const Comparison& c) {
  return fmt::format(
      "{}{} slower, {} faster, {} unsure, {} the same of {}; {} only in A, {} only in B\n",
      c.broken() > 0 ? fmt::format("{} BROKEN in B, ", c.broken()) : "", c.count(Verdict::slower),
      c.count(Verdict::faster), c.count(Verdict::unsure), c.count(Verdict::same),
      counted(c.rows.size(), "row"), c.only_in_a.size() - c.broken(), c.only_in_b.size());
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text = printable_line("A " + comparison.file_a) + '\n' +
                     printable_line("B " + comparison.file_b) + '\n';
  const std::span<const ComparedRow> rows = comparison.rows;
  bool emulation = false;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && same_heading(rows[first].a.name, rows[end].a.name)) ++end;
    text += '\n' + rows_text(rows.subspan(first, end - first));
    emulation = emulation || rows[first].a.name.emulation;
    first = end;
  }
  const auto broken_first = [](const LoneRow& row) { return row.fails_in_other(); };
  std::vector<LoneRow> only_in_a = comparison.only_in_a;
  const auto others = std::stable_partition(only_in_a.begin(), only_in_a.end(), broken_first);
  text += lone_text("Broken in B", "in B", {only_in_a.begin(), others});
  text += lone_text("Only in A", "in B", {others, only_in_a.end()});
  text += lone_text("Only in B", "in A", comparison.only_in_b);
  text += '\n';
  for (const Mismatch& mismatch : comparison.mismatches) {
    text += printable_line(fmt::format("Not compared, {}: {}", counted(mismatch.rows, "row"),
                                       mismatch.reason)) +
            '\n';
  }
  for (const std::string& note : comparison.notes) text += printable_line(note) + '\n';
  if (comparison.widening > 1.25) {
    text += fmt::format(
        "The rows scatter {:.1f} times as far as two runs of the same code should: intervals are "
        "widened by that.\n",
        comparison.widening);
  }
  if (emulation) text += fmt::format("{}\n", kEmulationNote);
  return text + summary_line(comparison);
}

}  // namespace mgtune
