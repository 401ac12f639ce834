// Compares the picks of a report with those of another database, its baseline, by the noise rule.
// Pure.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/noise_rule.h"
#include "model/report_model.h"

namespace mgtune {

// The baseline's pick for the same GPU, operator, problem and method.
struct BaselinePick {
  std::string variant;
  double time_ns = 0;
  // Of our pick over the baseline's, with its 95 % interval.
  double speedup = 1, speedup_low = 1, speedup_high = 1;
  Verdict verdict = Verdict::unsure;  // about our pick
};

// One per pick of `model`; nullopt if the baseline has no pick for it.
std::vector<std::optional<BaselinePick>> against_baseline(const ReportModel& model,
                                                          const ReportModel& baseline);

}  // namespace mgtune
