// What `mgtune sweep` says: before it starts (standard error), instead of starting (--dry-run), and
// at its end. Text for people; the same as JSON with --json. Pure but for reading the store.

#pragma once

#include <string>
#include <vector>

#include "cli/sweep_plan.h"
#include "core/status.h"
#include "store/store.h"
#include "sweep/sweep.h"

namespace mgtune {

std::string device_text(const SweepPlan& plan);  // "NVIDIA H200", "2 x NVIDIA H200"

std::string announcement(const SweepPlan& plan);

// Where the search of the plan's problems starts, a line; "" where it is from nothing.
Result<std::string> warm_start_text(const SweepPlan& plan, Store& store);

std::string dry_run_table(const std::vector<SweepPlan>& plans);
std::string dry_run_json(const std::vector<SweepPlan>& plans);

// One sweep that has ended.
struct FinishedSweep {
  const SweepPlan* plan;
  SweepSummary summary;
  double seconds = 0;
};

// The table of picks, with how many variants of each problem passed and failed.
Result<std::string> picks_of(const SweepSummary& summary, Store& store);
Result<std::string> sweep_json(const std::vector<FinishedSweep>& sweeps, Store& store);

// "evaluated 240 variants of 6 problems in 48 s: 237 ok, 3 wrong; compiled 200, reused 0" and what
// to do about it.
std::string summary_text(const FinishedSweep& sweep, const SweepWords& words, const Store& store);

std::int64_t failed_variants(const SweepSummary& summary);

}  // namespace mgtune
