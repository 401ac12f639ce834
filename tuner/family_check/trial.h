// Trials: variants that are built, and run if wanted, in a process of their own, the worker
// `mgtune worker trial REQUEST`. A kernel that crashes or never ends ends only this process. A
// trial of the cpu device checks every access of the kernel (races, bounds, reads of what nothing
// has written) before it compares the results.
//
// Between the processes: the request is one word of JSON. The worker answers with one line of JSON
// when it begins a stage of an item, and one when the item is done.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

struct TrialItem {
  std::string kernel;   // what Catalog::find() takes
  std::string op;       // "scale.vector"
  std::string problem;  // Problem::text()
  std::string variant;  // variant_text()
};

struct TrialRequest {
  DeviceInfo device;
  bool runs = false;  // false: the items are only built, and the device need not exist
  std::vector<TrialItem> items;
};

struct TrialResult {
  enum class Stage : std::uint8_t { build, reference, run };
  Stage stage = Stage::build;  // the last one that was begun
  StatusCode failure = StatusCode::ok;
  std::string message;    // of a failure
  bool is_wrong = false;  // the failure is a wrong result, not a fault that names its line
  // Of all kernels of the build; -1 if the compiler does not report it.
  int registers = -1, spill_bytes = -1, static_shared_bytes = -1;
};

// Runs the items in order, in as many processes as it takes: an item that ends its process is a
// failure, and the rest goes on in another one. One result per item. A Status if no process can be
// started. Thread-safe.
Result<std::vector<TrialResult>> run_trials(const std::string& program,
                                            const TrialRequest& request);

// The worker. The Status is its own failure, not that of an item.
Status run_trial_worker(const std::string& request);

}  // namespace mgtune
