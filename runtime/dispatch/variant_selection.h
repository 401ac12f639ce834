// Selection: which variants to try for a problem, best first, from the tuned rows at hand.
//
// In order: the exact problem on this GPU; the same GPU, nearest in the logarithm of every dim
// (static dims weighted 4 times); the nearest GPU by architecture, SM count, shared memory, L2,
// likewise; the default ladder. Only rows of the same dtypes and flags count, and emulation rows
// only on the cpu device. README.md has the rules in full. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"

namespace mgtune {

enum class SelectionStep : std::uint8_t { exact, nearest_problem, nearest_gpu, default_ladder };
std::string_view to_string(SelectionStep step);  // "exact problem", "nearest problem", ...

// A tuned row decoded against its operator. Rows with a variant the operator no longer offers, or a
// problem it cannot bind, are left out by decode_tuned(); so are all but one of the rows of a
// problem and GPU that differ in their method.
struct TunedEntry {
  Problem problem;
  Variant variant;
  GpuRecord gpu;
  double median_ns = 0;
  std::string build_sha256 = {};  // of the build that was measured
  bool emulation() const { return gpu.emulation; }
};
std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows);

struct SelectedVariant {
  Variant variant;
  SelectionStep step;
  std::string reason;      // "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
  double expected_ns = 0;  // at that problem; 0 when unknown
};

// Every admissible candidate for `problem`, best first, each variant once, the whole ladder last:
// never empty unless no design of the operator runs on the device.
std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const std::vector<TunedEntry>& tuned);

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

// Sum over dynamic and hint dims of |log2 a - log2 b|.
double dims_distance(const Operator& op, const Slots& a, const Slots& b);

// The log2 of a dim as every distance here takes it: 0 and 1 are equally near to everything.
double log_extent(std::int64_t dim);

// "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
std::string describe(const TunedEntry& entry);

GpuRecord gpu_record(const DeviceInfo& device);

}  // namespace mgtune
