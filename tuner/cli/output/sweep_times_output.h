// The text and the JSON with which `mgtune sweep --profile-sweep` shows where the wall time of a
// sweep went. Pure functions.

#pragma once

#include <string>

#include "json/json.h"
#include "sweep/sweep_times.h"

namespace mgtune {

// A table with one row for each phase that took time, with the seconds and the share of each GPU,
// and a line that says how busy the compile processes were.
std::string sweep_times_text(const SweepTimes& times);

// {"seconds": 12.5, "gpus": [{"device": "GPU-...", "phases": {"load": 0.1, ..., "idle: compile":
// 2.5}}], "compile": {"processes": 16, "seconds": 180.2}}: all phases, in seconds.
Json sweep_times_json(const SweepTimes& times);

}  // namespace mgtune
