// Why a pick is faster than what it is compared with, as far as the recorded figures say it. Pure.

#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"

namespace mgtune {

// Plain sentences, each only if the model has the figures for it:
// - how near the pick and its fastest peer come to the ceiling, and how often the bytes of the
//   problem could have been copied in the peer's time;
// - how many bytes it moves through DRAM;
// - what changing one parameter of the pick costs, from the recorded variants that differ from it
//   in nothing else: the values of the default first, then those that cost most;
// - how far the fastest variant of each other design is behind;
// - which counters and registers differ between the pick and its default, or, if the pick is the
//   default, between the pick and the fastest other variant that was counted.
// `analysis` is of `model`, and `pick` is one of its picks. Emulation has no sentences: its times
// say nothing about a GPU.
std::vector<std::string> pick_reasons(const ReportModel& model, const ReportAnalysis& analysis,
                                      const ReportPick& pick);

}  // namespace mgtune
