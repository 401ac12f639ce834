// Selection: which variants to try for a problem, best first, from the tuned rows at hand.
//
// In order: the exact problem on this GPU; the same GPU, nearest in the logarithm of every dim
// (static dims weighted 4 times); the nearest GPU by architecture, SM count, shared memory, L2,
// likewise; the default ladder. Only rows of the same dtypes and flags count. Pure functions.

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
// problem it cannot bind, are left out by decode_tuned().
struct TunedEntry {
  Problem problem;
  Variant variant;
  GpuRecord gpu;
  double median_ns = 0;
  bool emulation() const { return gpu.emulation; }
};
std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows);

struct Candidate {
  Variant variant;
  SelectionStep step;
  std::string reason;    // "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
  double expected_ns = 0;  // at that problem; 0 when unknown
};

// Every admissible candidate for `problem`, best first, each variant once, the whole ladder last:
// never empty unless no design of the operator runs on the device.
std::vector<Candidate> select(const Problem& problem, const DeviceInfo& device,
                              const std::vector<TunedEntry>& tuned);

GpuRecord gpu_record(const DeviceInfo& device);

}  // namespace mgtune
