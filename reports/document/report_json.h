// The rows of `mgtune show VIEW --json`: one self-contained object per row, ends with a newline.
// The keys are documented in reports/README.md and stable: keys are added, never changed, while
// "format" is 1. Text is valid UTF-8; a number that is not finite is null. Pure.

#pragma once

#include <string>

#include "json/json.h"
#include "model/report_model.h"

namespace mgtune {

std::string picks_json(const ReportModel& model);  // `mgtune show best`
std::string variants_json(const ReportModel& model);
std::string failures_json(const ReportModel& model);
std::string finals_json(const ReportModel& model);
std::string limits_json(const ReportModel& model);
std::string summary_json(const ReportModel& model);
std::string importance_json(const ReportModel& model);
std::string progress_json(const ReportModel& model);
std::string sizes_json(const ReportModel& model);
std::string counters_json(const ReportModel& model);
std::string environment_json(const ReportModel& model);

Json picks_rows(const ReportModel& model);  // what picks_json() writes, as a part of other JSON

}  // namespace mgtune
