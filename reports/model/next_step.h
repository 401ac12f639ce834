// NextStep: what a reader may try next for a pick, as far as the recorded figures say it. Pure.

#pragma once

#include <cstdint>
#include <string>

#include "analysis/analysis.h"

namespace mgtune {

struct NextStep {
  // A command that goes with the text. Reports know its words, which name the database.
  enum class Command : std::uint8_t {
    none,
    sweep_on_gpu,  // sweeps the operator on any GPU
    repeat_sweep,  // repeats the sweep of the pick, which goes on where it ended
    first_sweep,   // sweeps the problem on its GPU
    count,         // reads the counters of the pick
  };
  std::string text;  // "" if there is nothing to say
  Command command = Command::none;
};

// The first that applies: emulation needs a GPU; an imported pick without variants needs a sweep; a
// search that found its best late needs more time; at a ceiling only another shape or a fused
// kernel helps; a peer that is faster is the one to use; a space that was not searched whole is
// searched further; a pick without counters is counted. `analysis` is of `model`, and `pick` is one
// of its picks.
NextStep next_step(const ReportModel& model, const ReportAnalysis& analysis,
                   const ReportPick& pick);

}  // namespace mgtune
