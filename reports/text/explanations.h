// The texts that explain results to a person, the same in every form of a report: how they were
// measured, and what an outcome and its message say. Pure.

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

// "the compiler refused it"; "" for outcomes that are not failures.
std::string_view explanation(Outcome outcome);

// The part of a message that says what is wrong. Compilers begin with the places where a file was
// included; the important line has the word "error".
std::string_view headline(std::string_view message);

}  // namespace mgtune
