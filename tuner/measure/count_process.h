// CountProcess: hardware counters of variants, taken in a process of their own. Counting and timing
// by CUPTI's activity records exclude each other in a process, and counting wants privilege that
// may be missing: whatever happens there, the caller goes on. Keeps its worker between calls of one
// problem. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/status.h"
#include "measure/measure_process.h"
#include "worker/protocol.h"

namespace mgtune {

struct CountJob {
  std::string kernel;   // what --kernel named
  std::string op;       // "rmsnorm.forward"
  std::string problem;  // Problem::text()
  std::string variant;  // variant_text()
  int tier = 1;         // of counters/counter_sets.h
};

class CountProcess {
 public:
  // `program` is mgtune's path; `deadline` as of measuring (sweep/deadline.h). Starts nothing yet.
  CountProcess(const std::string& program, std::string device_id,
               std::chrono::milliseconds deadline);

  // With counters where the outcome is ok; another outcome is the variant's: its check, a crash.
  // environment, with the reason and what to do about it, where the machine does not let us count.
  Result<WorkReply> run(const CountJob& job);

 private:
  MeasureProcess process_;
  std::string device_id_;
  std::int64_t next_id_ = 1;
};

}  // namespace mgtune
