// ReportModel: everything that a report shows, read from the store alone. `mgtune show` prints
// parts of it, and `mgtune report` writes all of it. Both say the same because both read this.
// Plain data, immutable once made; any number of threads may read one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "model/stored_rows.h"
#include "roofline/roofline.h"
#include "store/views.h"

namespace mgtune {

// How a pick compares with its problem's default.
enum class PickStanding : std::uint8_t {
  faster,  // beyond noise
  tie,     // the best did not beat the default by more than the noise, so the default stays
  default_fastest,  // nothing was faster than the default
  no_default,       // the default has no time on this problem: it failed, or was not measured
};
std::string_view to_string(PickStanding standing);

// The pick for one problem on one GPU by one method, with its default.
struct ReportPick {
  TunedView view;
  PickStanding standing = PickStanding::no_default;
  // The default's time divided by the pick's, both as in `view`; nullopt if the default has none.
  std::optional<double> speedup;
  std::optional<double> bandwidth_gbps;  // counted bytes over time; none for emulation
  std::optional<double> of_copy;  // rate relative to the fastest copy of the same number of bytes
  std::int64_t variants_ok = 0, variants_failed = 0;  // of this problem on this GPU
  std::optional<double> noise_floor;                  // of its final; none if there was no final
  std::vector<std::string> tied;          // finalists not significantly slower than the fastest
  Roofline roofline;                      // empty for emulation
  bool imported = false;                  // measured elsewhere
  std::optional<double> low_ns, high_ns;  // the 95 % interval of its time
  std::optional<double> speedup_low, speedup_high;  // its 95 % interval, if a final timed both
  std::optional<std::size_t> row, default_row;      // indices into the model's variants
  std::vector<std::size_t> tied_rows;
  std::size_t problem = 0;  // index into the model's problems
  std::string measured_at;  // when its sweep began, UTC; "" if that is not known
  // Other implementations for the same problem: on this GPU, the fastest first, and on other GPUs,
  // which are not compared with it. None for emulation.
  std::vector<PeerRecord> peers, peers_elsewhere;
  // Of its time: a value for each metric of its problem.
  std::vector<std::optional<double>> metrics;
};

// One variant on one problem, with the figures that follow from its numbers.
struct ReportVariant {
  OutcomeView view;
  std::optional<double> slowdown;        // its time divided by the fastest, same method and problem
  std::optional<double> bandwidth_gbps;  // counted bytes over time; none for emulation
  bool is_pick = false;                  // by any method
  bool is_default = false;               // the pick is compared with this
  // By its time in the final if it has one. Empty for emulation and without a time.
  Roofline roofline;
  std::vector<CounterRecord> counters;  // of one launch of this build; empty: not counted
  std::optional<FinalistRecord> final;  // its place in the final of its method, without samples
  bool imported = false;                // measured elsewhere
  std::optional<std::int64_t> order;    // the number of the evaluation within its problem, from 0
  std::optional<double> seconds;        // spent on its problem until it was recorded
  std::size_t problem = 0;              // index into the model's problems
  std::optional<std::size_t> compile_log;  // index into the model's compile_logs
  // A value for each metric of its problem; empty without a time. A metric of a parameter that the
  // variant's design does not have has no value.
  std::vector<std::optional<double>> metrics;
};

// One problem on one GPU: variants[first, first + count) of the model. count is 0 if the store has
// only the pick.
struct ReportProblem {
  std::size_t first = 0, count = 0;
  GpuRecord gpu;
  std::int64_t gpu_id = 0;
  std::string op, problem;
  double bytes = 0, flops = 0;       // of its cost
  std::vector<std::string> metrics;  // names of the user's metrics, "GFLOP/s"
};

// Variants that failed in the same way with the same message; indices into variants.
struct ReportFailure {
  Outcome outcome;
  std::string message;
  std::vector<std::size_t> variants;
};

// The final of a pick's problem, by the pick's method.
struct ReportFinal {
  FinalView view;
  std::size_t pick = 0;                          // index into the model's picks
  std::vector<std::optional<std::size_t>> rows;  // of each finalist: index into the variants
};

struct OutcomeCount {
  Outcome outcome;
  std::int64_t count = 0;
};

struct ReportModel {
  std::string generated_at;  // UTC, "2026-11-21T09:00:00Z"
  std::string mgtune_version;
  std::vector<std::string> verdict;  // one to three sentences
  bool emulation = false;            // some of the times are the cpu device's
  std::vector<ReportPick> picks;     // GPUs before emulation, then by operator and problem
  // By problem. Of each method the fastest comes first, and failures come last.
  std::vector<ReportVariant> variants;
  std::vector<ReportProblem> problems;
  std::vector<ReportFailure> failures;    // by outcome, the most frequent message first
  std::vector<OutcomeCount> counts;       // outcomes that occur, in the order of Outcome
  std::vector<ReportFinal> finals;        // in the order of the picks
  std::vector<SweepView> sweeps;          // newest first
  std::vector<CeilingView> ceilings;      // of the GPUs that have variants
  std::vector<SpaceView> spaces;          // of the problems, before anything was compiled
  std::vector<std::string> compile_logs;  // of builds that were made: readable_log(), each once

  std::span<const ReportVariant> variants_of(const ReportProblem& problem) const {
    return std::span(variants).subspan(problem.first, problem.count);
  }
};

Result<ReportModel> read_report_model(Store& store);

// Whether a tuned row cannot be used with this build, so that it is no pick.
using LeavesOut = std::function<bool(const TunedView& row)>;

// The same from given rows, for example those of one sweep. Without `leaves_out` every tuned row is
// a pick.
ReportModel make_report_model(StoredRows rows, const LeavesOut& leaves_out = nullptr);

// The pick of one of the model's problems by a method; nullptr if there is none.
const ReportPick* find_pick(const ReportModel& model, std::size_t problem,
                            const std::string& method);

// The model's picks in groups, one per operator and GPU.
std::vector<std::span<const ReportPick>> picks_by_operator(const ReportModel& model);

// Whether the variant ended without a time that can be ranked: every outcome except ok and
// raced_out.
bool is_failure(Outcome outcome);

// Whether tables rank the variant by its time.
bool is_ranked(const OutcomeView& view);

// "NVIDIA H200", "cpu (emulation)".
std::string device_text(const GpuRecord& gpu);

// How near a pick comes to a measured ceiling of its GPU.
struct CeilingShare {
  std::string name;     // "copy of 64.0 MiB", "fp32 peak"
  double fraction = 0;  // 0.964
};

// The shares of the copy of the same number of bytes and of the peak of its arithmetic, as far as
// they are known. The nearest ceiling comes first. None for emulation.
std::vector<CeilingShare> ceiling_shares(const ReportPick& pick);

std::string share_text(const CeilingShare& share);  // "96.4 % of the copy of 64.0 MiB"

// The pick beside its default in a word: "1.52x", "tie", "default"; "" if the default has no time.
std::string standing_text(const ReportPick& pick);

// The median that tables show for the variant: for ok and raced_out, and for unstable as a hint.
std::optional<double> median_ns(const OutcomeView& view);

}  // namespace mgtune
