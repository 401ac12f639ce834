// Profile: the hardware counters of one variant on one problem. A child process reads them. The
// store keeps them under a row of `sweeps` whose strategy is "profile". This code runs in the
// parent process, which never uses a device. One thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/store.h"
#include "sweep/sweep.h"
#include "worker/protocol.h"

namespace mgtune {

// The variant to profile, and where it comes from.
struct ProfiledVariant {
  Variant variant;
  std::string source;  // "named", "pick", "default"
};

// Chooses the variant to profile. If `named` is not empty, it is the variant with this text:
// invalid_argument if there is no such variant, or if the device or the problem does not admit it.
// Otherwise it is the problem's pick on this device. If there is no pick, it is the default:
// unsupported if no default can run the problem here. But with `only_pick`, a missing pick is
// not_found.
Result<ProfiledVariant> choose_variant(const Problem& problem, const DeviceInfo& device,
                                       const std::string& named, bool only_pick, Store& store);

// A number that follows from the counters of a variant and the cost of the operator.
struct DerivedFigure {
  std::string name;  // "dram_of_cost_percent"
  double value;
  std::string unit, meaning;
};

// The figures whose counters were measured. `cost_bytes` is what the operator must move; 0:
// unknown.
std::vector<DerivedFigure> derived_figures(const VariantCounters& counters, double cost_bytes);

struct Profile {
  std::int64_t sweep = 0;  // the id of its row; 0 if nothing was counted
  std::string variant;     // variant_text()
  Outcome outcome = Outcome::ok;
  std::string message;       // if the outcome is not ok, which means that nothing was counted
  VariantCounters counters;  // as stored
  double cost_bytes = 0;     // the bytes that every variant must at least move
};

// Checks the variant, reads the counters of the tier, and stores them. It uses these members of
// `options`: kernel, command, program and lock_directory. environment on the cpu device, if another
// mgtune uses the GPU, or if the machine does not allow us to read counters. The message has the
// reason and says what to do.
Result<Profile> run_profile(const SweepOptions& options, int tier, const DeviceInfo& device,
                            const Problem& problem, const Variant& variant, Store& store);

}  // namespace mgtune
