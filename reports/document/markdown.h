// The report as Markdown: verdict, picks, what matters, failures, environment, how it was measured.
// For pull requests and wikis: text of the store cannot become markup. Pure.

#pragma once

#include <string>

#include "document/report_document.h"

namespace mgtune {

std::string report_markdown(const ReportModel& model, const ReportAnalysis& analysis,
                            const DocumentOptions& options);

// One row a pick, with everything that is known of it; empty where nothing is. Quoting is RFC
// 4180's, lines end in a newline, units are in the names of the columns. (The variants as CSV:
// `mgtune export --format csv`.)
std::string picks_csv(const ReportModel& model, const DocumentOptions& options);

}  // namespace mgtune
