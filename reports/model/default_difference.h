// What sets a pick apart from its problem's default: the answer to "why does it win?" as far as
// variants and importance give one. Pure.

#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"

namespace mgtune {

// Plain sentences: whether the pick is the default or of another design, which parameters differ
// (default -> pick), and which of them matters most by the importance within the pick's design,
// where enough variants have a time to say. `analysis` is of `model`, `pick` one of its picks.
std::vector<std::string> difference_sentences(const ReportModel& model,
                                              const ReportAnalysis& analysis,
                                              const ReportPick& pick);

}  // namespace mgtune
