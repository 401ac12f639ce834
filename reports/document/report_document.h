// The report as one JSON document. The page draws it, `mgtune report --format json` writes it, and
// `mgtune sweep --watch` sends it. configs/schema/report.schema.json has every key. While "format"
// is 2, keys are added and never changed. Text is valid UTF-8 as it was stored, and not made
// printable. A number that is not finite is null. Times have seven significant digits. Variants are
// stored as columns, so that 100,000 of them are about 12 MB. Pure, thread-safe.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/analysis.h"
#include "compare/baseline.h"
#include "model/report_model.h"

namespace mgtune {

struct DocumentOptions {
  bool live = false;  // a sweep is still running: the page asks for newer documents
  // One per pick of the model; empty without a baseline.
  std::span<const std::optional<BaselinePick>> baseline;
  bool with_baseline = false;
  std::string database;  // as --db named it; commands in the document name it too; "": the default
};

// Without white space and without a newline at its end.
std::string report_document(const ReportModel& model, const ReportAnalysis& analysis,
                            const DocumentOptions& options);

}  // namespace mgtune
