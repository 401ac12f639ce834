// The computed parts of a report as plain text for a terminal: the views of `mgtune show` that
// text/tables.h does not declare. Each ends with a newline. A view without rows names the command
// that produces them. Pure.

#pragma once

#include <string>

#include "model/report_model.h"

namespace mgtune {

std::string summary_table(const ReportModel& model);      // verdict, and what is missing
std::string importance_table(const ReportModel& model);   // which parameters matter
std::string progress_table(const ReportModel& model);     // how the sweeps converged
std::string sizes_table(const ReportModel& model);        // picks against problem size
std::string counters_table(const ReportModel& model);     // what the hardware counted
std::string environment_table(const ReportModel& model);  // machines, and commands to repeat

}  // namespace mgtune
