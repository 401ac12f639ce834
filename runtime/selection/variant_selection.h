// Selection: which variants to try for a problem, best first, from the available evidence.
//
// The order is: variants that were measured at this very problem on this GPU; variants ranked by
// the GPU's measurements at other problems, or the nearest pick if there are too few; the same on
// the nearest GPU; the default ladder. Only evidence of the same dtypes and flags counts, and
// emulation only on the cpu device. A variant that failed on this GPU at any problem is not in the
// order. README.md of runtime/dispatch has all rules. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/evidence.h"
#include "store/records.h"

namespace mgtune {

enum class SelectionStep : std::uint8_t {
  exact,
  least_regret,
  nearest_problem,
  nearest_gpu,
  default_ladder
};
std::string_view to_string(SelectionStep step);  // "exact problem", "nearest problem", ...

struct SelectedVariant {
  Variant variant;
  SelectionStep step;
  std::string reason;  // "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
  // The time on this problem, measured or estimated; otherwise the time on the problem that
  // `reason` names. 0: unknown.
  double expected_ns = 0;
  // How much slower than the best variant it is: 0.02 is 2 %; -1: unknown. It is an estimate, or
  // the ratio of the single measurements of the two variants. It does not follow from
  // `expected_ns`: for a pick, that is the time in the final, and the best variant may not have
  // been in the final.
  double slowdown = -1;
  double risk = kUnknownRisk;  // the ranking key: the slowdown and a part of its uncertainty
  bool other_driver = false;   // all of its measurements were made with another driver
  double alone_ns = 0;         // its single measurement on this problem; 0: not measured

  static constexpr double kUnknownRisk = 1;
};

// Every admissible candidate for `problem`, best first, each variant once, the whole ladder last.
// It is empty only if no design of the operator runs on the device, or all that run have failed on
// it.
std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const Evidence& evidence);

// The distance of a tuned entry from a binding on a device, without dynamic and hint dims. Smaller
// is better. dims_distance() of the launch is added later. Entries of the same GPU come before
// those of any other GPU, and nearer GPUs before farther ones.
struct TunedDistance {
  const TunedEntry* entry;  // of the argument
  bool same_gpu;
  bool same_binding;
  double distance;
};

SelectionStep step_of(const TunedDistance& tuned_distance, const Problem& problem);

// The entries of the binding's dtypes and flags, best first.
std::vector<TunedDistance> tuned_distances(const Binding& binding, const DeviceInfo& device,
                                           const std::vector<TunedEntry>& tuned);

// Sum over static dims of 4 * |log2 a - log2 b|, and 0.5 for each optional tensor that one has.
double binding_distance(const Operator& op, const Slots& a, const Slots& b);

// Sum over dynamic and hint dims of |log2 a - log2 b|.
double dims_distance(const Operator& op, const Slots& a, const Slots& b);

// The log2 of a dim as all distances here use it: 0 and 1 have the same distance to everything.
double log_extent(std::int64_t dim);

// "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
std::string describe(const TunedEntry& entry);

GpuRecord gpu_record(const DeviceInfo& device);

// A DeviceInfo with the properties of the record; the others are unknown. Selection uses it for a
// GPU that this machine does not have.
DeviceInfo device_of(const GpuRecord& gpu);

// How different two GPUs are. It is 0 if they differ only in the size of their memory.
double gpu_distance(const GpuRecord& a, const GpuRecord& b);

}  // namespace mgtune
