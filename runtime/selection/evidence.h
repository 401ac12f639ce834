// Evidence: what the store says of an operator, held against it: the picks of its problems, and how
// every variant did on them. What selection decides from. Plain data and pure functions.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"

namespace mgtune {

// A tuned row decoded against its operator.
struct TunedEntry {
  Problem problem;
  Variant variant;
  GpuRecord gpu;
  double median_ns = 0;
  std::string build_sha256 = {};  // of the build that was measured
  bool emulation() const { return gpu.emulation; }
};

struct Evidence {
  // One variant on one problem and GPU; places in the lists below.
  struct Row {
    std::uint32_t gpu, problem, variant, driver;
    Outcome outcome;
    double median_ns;  // 0 where it came to none
  };

  Evidence() = default;
  Evidence(
      std::vector<TunedEntry> picks)  // NOLINT(google-explicit-constructor): picks are evidence
      : tuned(std::move(picks)) {}

  std::vector<TunedEntry> tuned;
  std::vector<GpuRecord> gpus;
  std::vector<Problem> problems;
  std::vector<Variant> variants;
  std::vector<std::string> drivers;
  std::vector<Row> rows;  // the times of a problem and GPU are all of one method
};

// The method whose rows of a problem count, of those that it has rows of: `graph` where the fastest
// takes less than 20 us by it, because launches that short overlap in programs; else the first of
// rotating, rotating_events, graph, cold, hot, emulation. `fastest_ns` has one time for each.
std::size_t counted_method(const std::vector<std::string>& methods,
                           const std::vector<double>& fastest_ns);

// Rows of other operators are left out, as are rows with a variant that the operator no longer
// offers or a problem that it cannot bind; so are all but one of the rows of a problem and GPU that
// differ in their method.
std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows);
Evidence decode_evidence(const Operator& op, const std::vector<TunedView>& tuned,
                         const MeasuredRows& measured);

// invalid_argument for the first row of the operator with a value or a problem that the operator
// does not offer, naming row and value. Rows with other designs or parameters than it has are of
// another version of the operator: decode_evidence() leaves them out, and nothing is wrong with
// them.
Status check_offered(const Operator& op, std::span<const TunedView> tuned,
                     const MeasuredRows& measured);

// Whether an outcome says that the variant must not run on the GPU: it gave wrong results, or ended
// badly. Not what could not be built: that is tried again, and harmless.
bool rules_out(Outcome outcome);

// Which of `gpus` are interchangeable with `gpu`.
std::vector<bool> places_of(const GpuRecord& gpu, const std::vector<GpuRecord>& gpus);

// The variants with a failure on a GPU, at whatever problem.
std::vector<Variant> failed_variants(const Evidence& evidence, const GpuRecord& gpu);

}  // namespace mgtune
