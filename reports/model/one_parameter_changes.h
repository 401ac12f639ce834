// OneParameterChange: a recorded variant that differs from a pick in the value of one parameter and
// in nothing else. Pure.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/analysis.h"

namespace mgtune {

struct OneParameterChange {
  std::string parameter, value;  // of the other variant
  std::string pick_value;
  double ratio = 0;       // its time divided by that of the pick
  bool is_rough = false;  // racing stopped it early, so its time is of a few runs
};

// All such variants that have a time by the pick's method, by parameter in the order of the design.
// The times are those of the final if both variants were in it, otherwise both are single
// measurements.
std::vector<OneParameterChange> one_parameter_changes(const ReportModel& model,
                                                      const ReportAnalysis& analysis,
                                                      const ReportPick& pick);

// "STAGES=4": the values of the pick's design that were tried with other parameters, but not (in
// any outcome) with those of the pick. A constraint may rule them out.
std::vector<std::string> untried_changes(const ReportModel& model, const ReportAnalysis& analysis,
                                         const ReportPick& pick);

// The time of a variant of the pick's problem (an index into the model's variants) divided by that
// of the pick. For the default it is the pick's speed-up; otherwise the times are of the final if
// both were in it, else of the measurements. 0 if one of them has no time by the pick's method.
double time_ratio(const ReportModel& model, const ReportPick& pick, std::size_t row);

}  // namespace mgtune
