// Evidence: the stored results of one operator, which selection uses to choose variants: the picks
// of its problems, and the results of all variants. They are checked against the operator's file.
// Plain data and pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/views.h"

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
  // The result of one variant on one problem and GPU; the numbers are indices into the lists below.
  struct Row {
    std::uint32_t gpu, problem, variant, driver;
    Outcome outcome;
    double median_ns;  // 0 if it has no time
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

// These leave out rows of other operators, rows of variants that the operator does not offer any
// more, and rows of problems that it cannot bind. If a problem has rows of several timing methods
// on a GPU, only one method counts. It is `graph` if the fastest variant takes less than 20 us in a
// graph, because such short launches overlap in programs. Otherwise it is the first of rotating,
// rotating_events, graph, cold, hot, emulation that has rows. Of several picks of one problem and
// method, the one of the newest sweep counts.
std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows);
Evidence decode_evidence(const Operator& op, const std::vector<TunedView>& tuned,
                         const MeasuredRows& measured);

// invalid_argument, with the row and the value, for the first row of the operator with a value or a
// problem that the operator does not offer. A row with a design or parameter that the operator does
// not have is from another version of the operator. Such a row is not an error; decode_evidence()
// leaves it out.
Status check_offered(const Operator& op, std::span<const TunedView> tuned,
                     const MeasuredRows& measured);

// One flag per GPU of the evidence: whether it is interchangeable with `gpu`.
std::vector<bool> same_gpus(const Evidence& evidence, const GpuRecord& gpu);

// Whether a variant with this outcome is never run again on the GPU: it was wrong, crashed, did not
// end, or could not be launched. A variant that could not be built is not ruled out.
bool rules_out(Outcome outcome);

// The variants that gave wrong results on the GPU, crashed, or did not end, on any problem.
// Variants that could not be built are not in this list: to try them again does no harm.
std::vector<Variant> failed_variants(const Evidence& evidence, const GpuRecord& gpu);

struct MeasuredVariant {
  const Variant* variant;  // of the evidence
  double median_ns;
};

struct MeasuredProblem {
  const Problem* problem;                 // of the evidence
  std::vector<MeasuredVariant> variants;  // fastest first; all passed their checks

  double best_ns() const { return variants.front().median_ns; }
  std::optional<double> median_ns(const Variant& variant) const;  // nullopt: not measured here
};

// The problems with the dtypes and flags of `binding` that have at least one time on the GPU,
// without variants that failed on it at any problem. The evidence must outlive the result.
std::vector<MeasuredProblem> measured_problems(const Evidence& evidence, const GpuRecord& gpu,
                                               const Binding& binding);

// Whether two bindings or problems of an operator have the same dtypes and flags.
bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b);

}  // namespace mgtune
