#include "cli/found_results.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "core/text.h"
#include "results/stored_results.h"
#include "system/file_system.h"
#include "text/printable.h"

namespace mgtune {
namespace {

// The sentence for words that leave no results although the store has some.
std::string nothing_text(const ResultFilter& filter, const StoredRows& rows, const Names& all) {
  Names models;  // with results of the kernel
  const auto add = [&](const auto& row) {
    if (means_operator(filter.kernel, row.op)) models.insert(row.gpu.model);
  };
  std::ranges::for_each(rows.tuned, add);
  std::ranges::for_each(rows.outcomes, add);
  const bool elsewhere = !filter.kernel.empty() && !models.empty();
  const std::string has =
      all.empty() ? ""
                  : "; it has those " + (elsewhere ? "on " + listed(models) : "of " + listed(all));
  const std::string what = filter.kernel.empty() ? "" : " of '" + filter.kernel + "'";
  const std::string where =
      filter.gpu.empty() || (!elsewhere && !all.empty()) ? "" : " on " + filter.gpu;
  return "no results" + what + where + " in this store" + has + ". More: mgtune sweep" +
         (filter.kernel.empty() ? " --kernel rmsnorm" : " --kernel " + shell_word(filter.kernel)) +
         (filter.gpu.empty() ? "" : " --gpu " + shell_word(filter.gpu));
}

}  // namespace

Result<FoundResults> find_results(const std::string& database, const ResultFilter& filter) {
  Catalog catalog(FileSystem::real());
  // Loads the user's own family, so that its rows are judged too. A failure is ignored here,
  // because select_kernel_and_gpu() refuses a word that names nothing.
  if (!filter.kernel.empty()) static_cast<void>(catalog.find(filter.kernel));
  MGTUNE_ASSIGN(OpenedRows opened, open_rows(database, catalog));
  StoredRows rows;
  if (opened.store.has_value()) {
    MGTUNE_ASSIGN(rows, read_stored_rows(*opened.store));
    for (const OutcomeView& row : rows.outcomes) {
      opened.failed.add(row.gpu, row.op, row.variant, row.outcome);
    }
  }
  for (TunedTableRow& row : opened.rows) rows.tuned.push_back(std::move(row.view));
  FoundResults found;
  if (!filter.kernel.empty() || !filter.gpu.empty()) {
    const RecordedNames names = names_of(rows.tuned, rows.outcomes);
    MGTUNE_ASSIGN(const Selection selection, select_kernel_and_gpu(filter, names));
    const std::string nothing = nothing_text(filter, rows, names.operators);
    const bool any = keep_results(rows, [&](const std::string& op, const GpuRecord& gpu) {
      return selection.wants(op, gpu, "");
    });
    if (!any) found.nothing = nothing;
  }
  LeftOutRows left_out;
  found.model = make_report_model(std::move(rows), [&](const TunedView& row) {
    return left_out.leaves_out(row, catalog, opened.failed);
  });
  found.notes = std::move(opened.notes);
  for (std::string& sentence : left_out.sentences()) {
    found.model.verdict.push_back(sentence + ".");
    found.notes.push_back(std::move(sentence));
  }
  return found;
}

void print_notes(const FoundResults& found) {
  for (const std::string& note : found.notes) std::cerr << "mgtune: " << printable(note) << '\n';
}

}  // namespace mgtune
