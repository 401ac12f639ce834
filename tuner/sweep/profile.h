// Profile: the hardware counters of one variant on one problem, taken in a child process and kept
// in the store, under a sweep row of strategy "profile". The parent process only; it never touches
// a device. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/store.h"
#include "sweep/sweep.h"
#include "worker/protocol.h"

namespace mgtune {

// Which variant of a problem, and why that one.
struct ProfiledVariant {
  Variant variant;
  std::string source;  // "named", "pick", "default"
};

// The variant whose text is `named`, else the problem's pick on this device, else, unless
// `only_pick`, the default of the ladder. invalid_argument for a name that is none or a variant
// that the device or problem does not admit; not_found for a pick that has to be there and is not;
// unsupported when no default serves the problem here.
Result<ProfiledVariant> choose_variant(const Problem& problem, const DeviceInfo& device,
                                       const std::string& named, bool only_pick, Store& store);

struct Profile {
  std::int64_t sweep = 0;  // its row; 0 when nothing was counted
  std::string variant;     // variant_text()
  Outcome outcome = Outcome::ok;
  std::string message;       // of an outcome that is not ok: nothing was counted then
  VariantCounters counters;  // as stored
  double cost_bytes = 0;     // that the problem must move at least
};

// It checks the variant, reads the counters of the tier, and stores them. Of `options`, the kernel,
// the command, the program and the folder of locks count. environment on the cpu device, when
// another mgtune uses the GPU, and where the machine does not let us count, with the reason and
// what to do about it.
Result<Profile> run_profile(const SweepOptions& options, int tier, const DeviceInfo& device,
                            const Problem& problem, const Variant& variant, Store& store);

}  // namespace mgtune
