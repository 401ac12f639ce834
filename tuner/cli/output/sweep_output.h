// What `mgtune sweep` prints: before it starts (on standard error), instead of starting
// (--dry-run), and at its end. Text for people, or JSON with --json. The functions only read the
// store.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "plan/sweep_plan.h"
#include "store/store.h"
#include "sweep/sweep.h"

namespace mgtune {

std::string device_text(const SweepPlan& plan);  // "NVIDIA H200", "2 x NVIDIA H200"

std::string announcement(const SweepPlan& plan);

// A line that says where the search of the plan's problems starts; "" if nothing is known.
Result<std::string> warm_start_text(const SweepPlan& plan, Store& store);

std::string dry_run_table(const std::vector<SweepPlan>& plans);
std::string dry_run_json(const std::vector<SweepPlan>& plans);

// One sweep that has ended.
struct FinishedSweep {
  const SweepPlan* plan;
  SweepSummary summary;
  double seconds = 0;
};

// The table of picks, with how many variants of each problem passed and failed. `columns` is as for
// picks_table().
Result<std::string> picks_of(const FinishedSweep& sweep, Store& store, std::size_t columns);
// With `with_times` the JSON also says where the wall time went.
Result<std::string> sweep_json(const std::vector<FinishedSweep>& sweeps, Store& store,
                               bool with_times);

// "evaluated 240 variants of 6 problems in 48 s; compiled 200, reused 0", the outcomes, and what to
// do next. `show_failures` is the command that lists the variants that failed; the most frequent
// causes follow it.
std::string summary_text(const FinishedSweep& sweep, const std::string& show_failures,
                         Store& store);

// If the sweep tuned one of the user's own families and found a variant that works: the command
// that writes typed functions for the family. Otherwise "". `kernel` is the word that the user gave
// the sweep.
std::string next_step_text(const std::vector<FinishedSweep>& sweeps, const std::string& kernel);

std::int64_t failed_variants(const SweepSummary& summary);

}  // namespace mgtune
