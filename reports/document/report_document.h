// The report as one JSON document. The page draws it, `mgtune report --format json` writes it, and
// `mgtune sweep --watch` sends it to browsers. configs/schema/report.schema.json describes every
// key. While "format" is 2, a new version may add keys, but it does not change the meaning of a
// key. Text is valid UTF-8. It is the text of the store, with its control characters. A number that
// is not finite becomes null. Times are rounded to seven significant digits (number() in
// json_parts.h). Variants are written as columns, so that 100,000 of them take about 12 MB. Pure,
// thread-safe.

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
  std::string database;  // the word after --db, for the commands in the document; "": the default
};

// Without white space and without a newline at its end.
std::string report_document(const ReportModel& model, const ReportAnalysis& analysis,
                            const DocumentOptions& options);

}  // namespace mgtune
