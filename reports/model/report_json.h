// Parts of the report as JSON. reports/README.md documents the keys. They are stable: while
// "format" is 1, keys are added and never changed. Text is valid UTF-8. A number that is not finite
// is null.

#pragma once

#include <string>

#include "model/report_model.h"

namespace mgtune {

// For `mgtune show best|variants|failures|finals|limits --json`: one self-contained object per row.
// Each ends with a newline.
std::string picks_json(const ReportModel& model);
std::string variants_json(const ReportModel& model);
std::string failures_json(const ReportModel& model);
std::string finals_json(const ReportModel& model);
std::string limits_json(const ReportModel& model);

}  // namespace mgtune
