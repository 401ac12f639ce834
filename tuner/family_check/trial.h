// A trial builds variants, and runs them if wanted, in a separate process: the worker `mgtune
// worker trial REQUEST`. If a kernel crashes or never ends, only this process is lost. A trial of
// the cpu device checks every access of the kernel (races, bounds, reads of memory that nothing has
// written) before it compares the results.
//
// The protocol: the request is one word of JSON. The worker writes one line of JSON when it begins
// a stage of an item, and one line when the item is done.

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
  Stage stage = Stage::build;  // the last stage that was begun
  StatusCode failure = StatusCode::ok;
  std::string message;    // of a failure
  bool is_wrong = false;  // the failure is a wrong result, not a fault with a known line
  // The largest numbers over all kernels of the build; -1 if the compiler does not report them.
  int registers = -1, spill_bytes = -1, static_shared_bytes = -1;
};

// Runs the items in order. If an item ends its process, the item has failed, and the next items run
// in a new process. Returns one result per item, or a Status if no process can be started.
// Thread-safe.
Result<std::vector<TrialResult>> run_trials(const std::string& program,
                                            const TrialRequest& request);

// Runs the worker. The Status is the worker's own failure, not the failure of an item.
Status run_trial_worker(const std::string& request);

}  // namespace mgtune
