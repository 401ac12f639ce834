// How a pick differs from its problem's default. This answers "why is it faster?" as far as
// variants and importance allow. Pure.

#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"

namespace mgtune {

// Plain sentences: whether the pick is the default or has another design, which parameters differ
// (default -> pick), and which of them is the most important within the pick's design, if enough
// variants have a time. `analysis` is of `model`, and `pick` is one of its picks.
std::vector<std::string> difference_sentences(const ReportModel& model,
                                              const ReportAnalysis& analysis,
                                              const ReportPick& pick);

}  // namespace mgtune
