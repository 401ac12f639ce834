#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/comparison_words.h"
#include "text/markdown_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

// One table of all operators: a comment is read from the top.
std::string markdown_rows(const std::vector<const ComparedRow*>& rows) {
  MarkdownTable table(
      {"verdict", "change", "95 % interval", "A", "B", "where", "problem", "variant"});
  for (const ComparedRow* row : rows) {
    const Difference& d = row->difference;
    table.add({std::string(to_string(d.verdict)), change_text(d.change),
               change_text(d.low) + " .. " + change_text(d.high), time_text(row->a.time.median_ns),
               time_text(row->b.time.median_ns), place_text(row->a.name), row->a.name.problem,
               variants_text(*row)});
  }
  return table.text();
}

std::string markdown_lone_rows(const std::vector<const LoneRow*>& rows) {
  MarkdownTable table({"where", "problem", "in the other file", "variant"});
  for (const LoneRow* row : rows) {
    table.add({place_text(row->name), row->name.problem, row->other, row->name.variant});
  }
  return table.text();
}

std::string folded_rows(const std::string& title, const std::string& text) {
  return fmt::format("\n<details><summary>{}</summary>\n\n{}\n</details>\n", title, text);
}

std::string comparison_headline(const Comparison& comparison) {
  if (!comparison.has_regression()) return "no pick is slower";
  const auto is_slower = [](const ComparedRow& row) {
    return row.is_pick() && row.difference.verdict == Verdict::slower;
  };
  const auto slower = std::ranges::count_if(comparison.rows, is_slower);
  const auto broken = std::ranges::count_if(
      comparison.only_in_a, [](const LoneRow& row) { return row.is_pick && row.fails_in_other(); });
  std::string text;
  if (broken > 0) text = fmt::format("{} broken", counted(broken, "pick"));
  if (slower > 0) {
    text += fmt::format("{}{} slower", text.empty() ? "" : ", ", counted(slower, "pick"));
  }
  return text;
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  std::string text = fmt::format("### mgtune compare: {}\n\n", comparison_headline(comparison));
  for (const std::string& sentence : summary_sentences(comparison)) {
    text += markdown_plain(sentence) + "  \n";  // two blanks end a line
  }
  text += fmt::format("A is {}, B is {}\n", markdown_plain(comparison.file_a),
                      markdown_plain(comparison.file_b));
  std::vector<const ComparedRow*> changed, others;
  for (const ComparedRow& row : comparison.rows) {
    const Verdict verdict = row.difference.verdict;
    const bool has_changed = verdict == Verdict::slower || verdict == Verdict::faster;
    (has_changed ? changed : others).push_back(&row);
  }
  std::vector<const LoneRow*> broken, only_in_a, only_in_b;
  for (const LoneRow& row : comparison.only_in_a) {
    (row.fails_in_other() ? broken : only_in_a).push_back(&row);
  }
  for (const LoneRow& row : comparison.only_in_b) only_in_b.push_back(&row);
  if (!broken.empty()) text += "\n**Broken in B**\n\n" + markdown_lone_rows(broken);
  if (!changed.empty()) text += '\n' + markdown_rows(changed);
  if (!others.empty()) {
    text += folded_rows(counted(others.size(), "row") + ": SAME or UNSURE", markdown_rows(others));
  }
  if (!only_in_a.empty()) {
    text +=
        folded_rows(counted(only_in_a.size(), "row") + " only in A", markdown_lone_rows(only_in_a));
  }
  if (!only_in_b.empty()) {
    text +=
        folded_rows(counted(only_in_b.size(), "row") + " only in B", markdown_lone_rows(only_in_b));
  }
  for (const std::string& sentence : cautions(comparison)) {
    text += '\n' + markdown_plain(sentence) + '\n';
  }
  return text;
}

}  // namespace mgtune
