// The parts of a report as plain text for a terminal; each ends with a newline. A table with times
// of the cpu device says "emulation". A table without rows names the command that produces them.
// document/report_json.h has the same as JSON.

#pragma once

#include <string>

#include "document/report_json.h"  // so that a caller who prints both forms includes one header
#include "model/report_model.h"

namespace mgtune {

std::string picks_table(const ReportModel& model);     // `mgtune show best`, the end of a sweep
std::string variants_table(const ReportModel& model);  // `mgtune show variants`
std::string failures_table(const ReportModel& model);  // `mgtune show failures`
std::string finals_table(const ReportModel& model);    // `mgtune show finals`
std::string limits_table(const ReportModel& model);    // `mgtune show limits`

}  // namespace mgtune
