// The sections of the HTML report, in the order in which the report shows them. Each function
// returns the HTML below the section's heading. If a section has no data, its text names the
// command that produces the data. Pure.

#pragma once

#include <string>

#include "model/report_model.h"

namespace mgtune {

std::string verdict_section(const ReportModel& model);
std::string picks_section(const ReportModel& model);
std::string variants_section(const ReportModel& model);
std::string energy_section(const ReportModel& model);  // "" if no energy was measured
std::string failures_section(const ReportModel& model);
std::string environment_section(const ReportModel& model);
std::string method_section(const ReportModel& model);

}  // namespace mgtune
