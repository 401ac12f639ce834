// The report as Markdown: verdict, picks, important parameters, failures, environment, how it was
// measured. For pull requests and wikis: text of the store cannot become markup. Pure.

#pragma once

#include <string>

#include "document/report_document.h"

namespace mgtune {

std::string report_markdown(const ReportModel& model, const ReportAnalysis& analysis,
                            const DocumentOptions& options);

// One row per pick with everything that is known about it; a cell is empty if nothing is. Quoting
// follows RFC 4180, lines end with a newline, and the names of the columns have the units. (`mgtune
// export --format csv` writes the variants as CSV.)
std::string picks_csv(const ReportModel& model, const DocumentOptions& options);

}  // namespace mgtune
