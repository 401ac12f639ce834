// Selection: which variants to try for a problem, best first, from the evidence at hand.
//
// In order: what was measured of this very problem on this GPU; what the measurements of this GPU
// say of other problems, or the nearest pick where they are too few; the nearest GPU, likewise; the
// default ladder. Only evidence of the same dtypes and flags counts, and emulation only on the cpu
// device. What failed on this GPU, at whatever problem, is nowhere in it. README.md has the rules
// in full. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "selection/evidence.h"
#include "family/problem.h"
#include "family/variant.h"
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
  std::string reason;      // "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
  double expected_ns = 0;  // here where it is known or estimated, else at that problem; 0: unknown
  // How much slower than the best it is: 0.02 is 2 %; -1: unknown. Estimated, or from what both
  // took measured alone: the expected time of a pick is its final's, which the best may not have
  // been in.
  double slowdown = -1;
  double risk = kUnknownRisk;  // what ranks: the slowdown and a part of its uncertainty
  bool other_driver = false;   // all that is known of it was measured with another driver
  double alone_ns = 0;         // measured alone at this very problem; 0: it was not

  static constexpr double kUnknownRisk = 1;
};

// Every admissible candidate for `problem`, best first, each variant once, the whole ladder last:
// never empty unless no design of the operator runs on the device, or what runs has failed on it.
std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const Evidence& evidence);

// How near a tuned entry is to a binding on a device before dynamic and hint dims are looked at.
// Smaller is better; dims_distance() of the launch is added. Entries of the same GPU come before
// those of any other, nearer GPUs before farther ones.
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

// The log2 of a dim as every distance here takes it: 0 and 1 are equally near to everything.
double log_extent(std::int64_t dim);

// "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
std::string describe(const TunedEntry& entry);

GpuRecord gpu_record(const DeviceInfo& device);

// The device that a record is of, as far as it says: for selection where there is no such GPU.
DeviceInfo device_of(const GpuRecord& gpu);

// Smaller is nearer; 0 for a GPU that differs in its memory alone.
double gpu_distance(const GpuRecord& a, const GpuRecord& b);

}  // namespace mgtune
