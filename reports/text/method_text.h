// How the results were measured, in plain words, the same in every form of a report. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

// The steps of every result: checked first, then timed, then a final. One paragraph each.
std::vector<std::string> measuring_steps();

// The methods that the model's times were taken by, sorted.
std::vector<std::string> methods_used(const ReportModel& model);

// Describes a method. If this version has no description, a sentence says so.
std::string_view method_description(std::string_view method);

}  // namespace mgtune
