// How it was measured, in plain words: the same in every form of a report. Pure.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

// Of every result: checked first, then timed, then a final. One paragraph each.
std::vector<std::string> measuring_steps();

// The methods that the model's times were taken by, sorted.
std::vector<std::string> methods_used(const ReportModel& model);

// What a method does; a sentence that says so where this version has no description.
std::string_view method_description(std::string_view method);

}  // namespace mgtune
