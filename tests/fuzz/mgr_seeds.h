// What mgr_fuzz and the test that writes its seeds have to agree on: how an input is made of a file
// and arguments, and a tuned table that the cpu device selects from.

#pragma once

#include <cstddef>
#include <string>

namespace mgtune {

// The last bytes of an input say what else the functions are called with; zeros are a correct call.
inline constexpr std::size_t kMgrArgumentBytes = 48;

inline std::string mgr_fuzz_input(const std::string& file) {
  return file + std::string(kMgrArgumentBytes, '\0');
}

// Of the compiler of the target: a pack that has it is one of this machine.
inline constexpr char kMgrCompiler[] = "the fuzz target's";

// A pick for a shape in the ranges of the target's plan and one for another static dim.
inline constexpr char kCpuTable[] = R"json({"format": 1, "tables": [{"operator": "rmsnorm.forward",
 "gpu": {"model": "cpu", "arch": "cpu", "sm_count": 8, "l2_bytes": 4194304, "memory_bytes": 0,
         "max_shared_bytes": 166912, "mig_profile": "", "emulation": true},
 "environment": {"mgtune_version": "0.1.0", "compiler": "", "driver": "", "system": ""},
 "picks": [{"problem": "rows=16 hidden=32 T=f32", "method": "emulation", "design": "row",
   "parameters": {"THREADS_PER_ROW": 8, "ROWS_PER_BLOCK": 4, "ROWS_PER_THREAD": 1, "VEC": 4,
                  "LOAD": "streaming", "STORE": "streaming", "WEIGHT": "early", "PDL": false},
   "median_ns": 3874.5, "default": null, "tie": false,
   "measured_at": "2026-11-21T09:00:00Z"},
  {"problem": "rows=4 hidden=64 T=f32", "method": "emulation", "design": "row",
   "parameters": {"THREADS_PER_ROW": 16, "ROWS_PER_BLOCK": 2, "ROWS_PER_THREAD": 1, "VEC": 4,
                  "LOAD": "streaming", "STORE": "streaming", "WEIGHT": "early", "PDL": false},
   "median_ns": 4100, "default": null, "tie": false,
   "measured_at": "2026-11-21T09:00:00Z"}]}]})json";

}  // namespace mgtune
