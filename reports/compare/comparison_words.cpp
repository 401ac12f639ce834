#include "compare/comparison_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/units.h"

namespace mgtune {
namespace {

std::string counts_sentence(const Comparison& c) {
  const std::size_t gone = c.only_in_a.size() - c.broken();
  std::string text =
      fmt::format("{}: {} SLOWER, {} FASTER, {} SAME, {} UNSURE, {} BROKEN",
                  counted(c.rows.size() + c.broken(), c.all_variants ? "variant" : "pick"),
                  c.count(Verdict::slower), c.count(Verdict::faster), c.count(Verdict::same),
                  c.count(Verdict::unsure), c.broken());
  if (gone > 0) text += fmt::format("; {} only in A", gone);
  if (!c.only_in_b.empty()) text += fmt::format("; {} only in B", c.only_in_b.size());
  return text;
}

std::string worst_sentence(const ComparedRow& row) {
  return fmt::format("Worst: {} {}, {} -> {}, {}{}{} ({})", to_string(row.difference.verdict),
                     change_text(row.difference.change), time_text(row.a.time.median_ns),
                     time_text(row.b.time.median_ns), place_text(row.a.name),
                     row.a.name.problem.empty() ? "" : ": ", row.a.name.problem,
                     variants_text(row));
}

}  // namespace

std::string change_text(double change) { return fmt::format("{:+.1f} %", 100 * change); }

std::string place_text(const RowName& name) {
  if (name.op.empty()) return fmt::format("Benchmarks, {}", name.method);
  return fmt::format("{} on {}{}, {}", name.op, name.device, name.emulation ? " (emulation)" : "",
                     name.method);
}

std::string variants_text(const ComparedRow& row) {
  const std::string& a = row.a.name.variant;
  const std::string& b = row.b.name.variant;
  return a == b ? a : a + " -> " + b;
}

std::vector<std::string> summary_sentences(const Comparison& comparison) {
  std::vector<std::string> sentences = {counts_sentence(comparison)};
  const ComparedRow* const worst = comparison.worst();
  if (worst != nullptr) sentences.push_back(worst_sentence(*worst));
  return sentences;
}

std::vector<std::string> cautions(const Comparison& comparison) {
  std::vector<std::string> sentences;
  for (const Mismatch& mismatch : comparison.mismatches) {
    sentences.push_back(
        fmt::format("Not compared, {}: {}", counted(mismatch.rows, "row"), mismatch.reason));
  }
  sentences.insert(sentences.end(), comparison.notes.begin(), comparison.notes.end());
  if (comparison.widening > 1.25) {
    sentences.push_back(fmt::format(
        "The rows scatter {:.1f} times as far as two runs of the same code should: intervals are "
        "widened by that.",
        comparison.widening));
  }
  const bool emulation = std::ranges::any_of(
      comparison.rows, [](const ComparedRow& row) { return row.a.name.emulation; });
  if (emulation) sentences.emplace_back(kEmulationNote);
  return sentences;
}

}  // namespace mgtune
