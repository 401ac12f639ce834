// The parts of the report, in the order in which it shows them. Each is a pure function of the
// model. A part without data names the command that produces it.

#pragma once

#include <string>

#include "model/report_model.h"

namespace mgtune {

std::string verdict_section(const ReportModel& model);
std::string picks_section(const ReportModel& model);
std::string variants_section(const ReportModel& model);
std::string failures_section(const ReportModel& model);
std::string environment_section(const ReportModel& model);
std::string method_section(const ReportModel& model);

}  // namespace mgtune
