// The rows of the store as plain structs, except for those that programs read too
// (runtime/database/). README.md describes the tables and what each column means. Plain data,
// without locks.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "database/field.h"
#include "database/gpu_record.h"
#include "database/outcome.h"
#include "database/pick.h"

namespace mgtune {

// What is known of the kernels of a binary from the compiler's report and the binary. -1: nothing.
struct BuildResources {
  int registers = -1, spill_bytes = -1, static_shared_bytes = -1;
  int code_bytes = -1;  // of machine code
  int ptx_bytes = -1;   // the length of its kernels' PTX

  static constexpr auto fields() {
    using R = BuildResources;
    constexpr FieldTraits size = {.unit = "bytes", .added_in = 6};
    return std::tuple(
        Field{"registers", &R::registers}, Field{"spill_bytes", &R::spill_bytes, {.unit = "bytes"}},
        Field{"static_shared_bytes", &R::static_shared_bytes, {.unit = "bytes"}},
        Field{"code_bytes", &R::code_bytes, size}, Field{"ptx_bytes", &R::ptx_bytes, size});
  }
  bool operator==(const BuildResources&) const = default;
};

struct BuildRecord : BuildResources {
  std::string key;     // of the request
  std::string sha256;  // of the binary; "" if there is none
  std::string arch;
  std::string message;            // why it failed, or the compiler's log
  Outcome outcome = Outcome::ok;  // ok, compile_failed, unsupported, timeout

  static constexpr auto fields() {
    using R = BuildRecord;
    return std::tuple_cat(
        std::tuple(Field{"key", &R::key}, Field{"sha256", &R::sha256}, Field{"arch", &R::arch},
                   Field{"outcome", &R::outcome}, Field{"message", &R::message}),
        BuildResources::fields());
  }
  bool operator==(const BuildRecord&) const = default;
};

// The key of a check or a measurement. The binary is part of the key, but the source is not: if an
// edit of the source gives the same binary, the results stay valid.
struct ResultKey {
  std::int64_t gpu = 0, problem = 0;  // row ids
  std::string build_sha256;
  std::string launch_hash;     // of all inputs of a launch that are not in the binary: grid, ...
  std::string reference_hash;  // of the reference, fills and tolerances; only checks use it
};

struct CheckRecord {
  Outcome outcome = Outcome::ok;  // ok, wrong, crashed, timeout, launch_failed, unsupported
  std::string message;            // "" if ok
  double error = 0;  // as the operator measures it; the largest of all outputs and seeds
  double tolerance = 0;

  static constexpr auto fields() {
    using R = CheckRecord;
    return std::tuple(Field{"outcome", &R::outcome, {.documents = kNoDocument}},
                      Field{"error", &R::error, {.documents = kCsv, .csv_name = "check_error"}},
                      Field{"tolerance", &R::tolerance, {.documents = kCsv}},
                      Field{"message", &R::message, {.documents = kNoDocument}});
  }
  bool operator==(const CheckRecord&) const = default;
};

// What NVML reported about the GPU while samples were taken. 0 and "": nothing was read.
struct ClockRecord {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;  // medians
  std::string throttle_reasons;        // "sw_power_cap hw_thermal_slowdown"
  std::int64_t throttled_samples = 0;  // samples that were taken while the GPU was throttled

  static constexpr auto fields() {
    using R = ClockRecord;
    return std::tuple(
        Field{"sm_mhz", &R::sm_mhz, {.unit = "MHz", .documents = kCsv}},
        Field{"memory_mhz", &R::memory_mhz, {.unit = "MHz", .documents = kCsv}},
        Field{"power_w", &R::power_w, {.unit = "W", .documents = kCsv}},
        Field{"temperature_c", &R::temperature_c, {.unit = "degrees Celsius", .documents = kCsv}},
        Field{"throttle_reasons", &R::throttle_reasons, {.documents = kCsv}},
        Field{"throttled_samples", &R::throttled_samples, {.documents = kNoDocument}});
  }
  bool operator==(const ClockRecord&) const = default;
};

struct MeasurementRecord {
  Outcome outcome = Outcome::ok;  // ok, raced_out, unstable, crashed, timeout, launch_failed
  std::string message;
  // "rotating", "emulation", ... Times of different methods are never compared with each other.
  std::string method;
  double median_ns = 0, q1_ns = 0, q3_ns = 0, min_ns = 0;
  std::int64_t samples = 0;
  std::string note;                              // e.g. "problem too small to rotate"
  double median_low_ns = 0, median_high_ns = 0;  // 95 % interval of the median; 0 in older rows
  ClockRecord clocks;

  static constexpr auto fields() {
    using R = MeasurementRecord;
    constexpr FieldTraits time = {.unit = "ns"};
    constexpr FieldTraits median = {.unit = "ns", .is_first = true};
    constexpr FieldTraits low = {.unit = "ns", .is_first = true, .page_name = "low_ns"};
    constexpr FieldTraits high = {.unit = "ns", .is_first = true, .page_name = "high_ns"};
    return std::tuple(Field{"outcome", &R::outcome, {.documents = kNoDocument}},
                      Field{"method", &R::method, {.documents = kCsv, .is_first = true}},
                      Field{"median_ns", &R::median_ns, median}, Field{"q1_ns", &R::q1_ns, time},
                      Field{"q3_ns", &R::q3_ns, time}, Field{"min_ns", &R::min_ns, time},
                      Field{"samples", &R::samples}, Field{"median_low_ns", &R::median_low_ns, low},
                      Field{"median_high_ns", &R::median_high_ns, high},
                      Field{"clocks", &R::clocks},
                      Field{"note", &R::note, {.documents = kRecording}},
                      Field{"message", &R::message, {.documents = kNoDocument}});
  }
  bool operator==(const MeasurementRecord&) const = default;
};

// A ceiling: the highest rate of one kind of work that was measured on a GPU.
struct CeilingRecord {
  std::string kind;        // "copy", "read", "fp32", "mma_bf16", "wgmma_bf16", ...
  std::string method;      // of the timing
  std::int64_t bytes = 0;  // that a "copy" (read + written) or a "read" moves; 0 for other kinds
  double rate = 0;  // bytes per second for "copy" and "read", otherwise operations per second
  std::string measured_at;  // UTC
  ClockRecord clocks;

  static constexpr auto fields() {
    using R = CeilingRecord;
    return std::tuple(Field{"kind", &R::kind}, Field{"method", &R::method},
                      Field{"bytes", &R::bytes, {.unit = "bytes"}},
                      Field{"rate", &R::rate, {.unit = "1/s"}},
                      Field{"measured_at", &R::measured_at}, Field{"clocks", &R::clocks});
  }
  bool operator==(const CeilingRecord&) const = default;
};

// A counter of one launch, e.g. "dram_read_bytes".
struct CounterRecord {
  std::string name;
  double value = 0;

  static constexpr auto fields() {
    using R = CounterRecord;
    return std::tuple(Field{"name", &R::name}, Field{"value", &R::value});
  }
  bool operator==(const CounterRecord&) const = default;
};

// Hardware counters of one launch of a variant.
struct VariantCounters {
  std::string chip;                   // "GH100"
  std::int64_t launches = 0;          // each value is the mean of this many launches
  std::int64_t passes = 0;            // how often these launches were repeated
  std::string note;                   // "", or why the buffers do not rotate fully
  std::vector<CounterRecord> values;  // named as in counters/counter_sets.h
  std::vector<std::string> left_out;  // "wgmma_instructions: TU102 has no metric for it"

  // All but the values, which become an object with a member per counter.
  static constexpr auto fields() {
    using R = VariantCounters;
    return std::tuple(Field{"chip", &R::chip}, Field{"launches", &R::launches},
                      Field{"passes", &R::passes}, Field{"note", &R::note},
                      Field{"left_out", &R::left_out});
  }
};

// The times of several variants that were timed in turn: each one once per round.
struct TurnTiming {
  std::vector<std::vector<double>> samples_ns;  // of each variant, one per round
  std::string note;
  ClockRecord clocks;

  static constexpr auto fields() {
    using R = TurnTiming;
    return std::tuple(Field{"samples_ns", &R::samples_ns}, Field{"note", &R::note},
                      Field{"clocks", &R::clocks});
  }
};

// The energy of one launch of several variants that ran in turn: of the whole board, while launches
// run back to back.
struct TurnEnergy {
  std::vector<double> joules;        // of each variant
  std::vector<double> error_joules;  // half the width of its 95 % interval

  static constexpr auto fields() {
    using R = TurnEnergy;
    return std::tuple(Field{"joules", &R::joules, {.unit = "J"}},
                      Field{"error_joules", &R::error_joules, {.unit = "J"}});
  }
};

// One of the variants that were timed in turn at the end of a problem's sweep.
struct FinalistRecord {
  std::string variant, build_sha256, launch_hash;
  double median_ns = 0, median_low_ns = 0, median_high_ns = 0;  // with its 95 % interval
  // The time of this variant divided by the time of the default in the same round: the median of
  // all rounds, and its 95 % interval. If the default does not run, the divisor is the time of the
  // variant with the fastest single measurement.
  double ratio = 0, ratio_low = 0, ratio_high = 0;
  bool tied = false;                        // not significantly slower than the fastest
  std::vector<double> samples_ns;           // one per round, in the order of the rounds
  double energy_j = 0, energy_error_j = 0;  // of a launch; 0: not measured

  static constexpr auto fields() {
    using R = FinalistRecord;
    constexpr FieldTraits energy = {.unit = "J", .documents = kNoDocument, .added_in = 5};
    return std::tuple(
        Field{"median_ns", &R::median_ns, {.unit = "ns"}},
        Field{"median_low_ns", &R::median_low_ns, {.unit = "ns", .page_name = "low_ns"}},
        Field{"median_high_ns", &R::median_high_ns, {.unit = "ns", .page_name = "high_ns"}},
        Field{"ratio", &R::ratio}, Field{"ratio_low", &R::ratio_low},
        Field{"ratio_high", &R::ratio_high}, Field{"tied", &R::tied},
        Field{"energy_j", &R::energy_j, energy},
        Field{"energy_error_j", &R::energy_error_j, energy});
  }
};

// The final of one problem: the fastest variants and the default are timed again, in rounds. Each
// round times every entry once, in random order.
struct FinalRecord {
  std::int64_t sweep = 0, gpu = 0, problem = 0;  // row ids
  std::string method;
  // One variant has two entries in the final. The noise floor is the distance from 1 of the ratio
  // of their times, including its 95 % interval: 0.004 is 0.4 %. A smaller difference of two
  // variants is noise.
  double noise_floor = 0;
  std::vector<FinalistRecord> finalists;  // the fastest first
  ClockRecord clocks;
  std::string note;  // in which way the timing is less than the method promises
  // Why some finalists have no counters, although --counters was given; otherwise "".
  std::string not_counted;

  static constexpr auto fields() {
    using R = FinalRecord;
    return std::tuple(Field{"method", &R::method}, Field{"noise_floor", &R::noise_floor},
                      Field{"note", &R::note}, Field{"not_counted", &R::not_counted},
                      Field{"clocks", &R::clocks});
  }
};

// How many points of a design's space one rule excludes. A rule is a requirement, a constraint or a
// let that cannot be evaluated. If several rules exclude a point, the first one counts.
struct PrunedRecord {
  std::string rule;
  std::int64_t points = 0;

  static constexpr auto fields() {
    using R = PrunedRecord;
    return std::tuple(Field{"rule", &R::rule}, Field{"points", &R::points});
  }
  bool operator==(const PrunedRecord&) const = default;
};

// The size of a design's space for one problem on one GPU, before anything is compiled: all points,
// and the admissible ones.
struct SpaceRecord {
  std::string design;
  std::int64_t points = 0, admissible = 0;
  bool counted = true;      // false: only a part of a large space was counted
  std::string unavailable;  // the requirement that excludes the whole design; otherwise ""
  std::vector<PrunedRecord> pruned;

  static constexpr auto fields() {
    using R = SpaceRecord;
    return std::tuple(Field{"design", &R::design}, Field{"points", &R::points},
                      Field{"admissible", &R::admissible}, Field{"counted", &R::counted},
                      Field{"unavailable", &R::unavailable});
  }
  bool operator==(const SpaceRecord&) const = default;
};

struct SweepRecord {
  std::int64_t id = 0, gpu = 0, environment = 0;
  std::string command;                  // as typed, so that it can be repeated
  std::string strategy;                 // "exhaustive"
  std::string budget;                   // "500", "60s"; "" for none
  std::string started_at, finished_at;  // UTC, "2026-11-21T09:00:00Z"; finished_at "" while it runs

  static constexpr auto fields() {
    using R = SweepRecord;
    return std::tuple(Field{"command", &R::command}, Field{"strategy", &R::strategy},
                      Field{"budget", &R::budget}, Field{"started_at", &R::started_at},
                      Field{"finished_at", &R::finished_at});
  }
};

// The outcome of one variant on one problem, with its build, check and measurement. Store::record()
// writes all of this in one transaction.
struct OutcomeRecord {
  std::int64_t sweep = 0;
  ResultKey key;        // build_sha256 is "" if there is no binary
  std::string variant;  // variant_text()
  Outcome outcome = Outcome::ok;
  std::string message;
  BuildRecord build;  // its key is "" if the variant has no build
  std::optional<CheckRecord> check;
  std::optional<MeasurementRecord> measurement;
};

// A figure of the user's that tables show beside times. The formula has parameters of variants and
// `ns` as names (expression/metric_formula.h); all else is numbers.
struct MetricRecord {
  std::string name;     // "GFLOP/s"
  std::string formula;  // "33554432 / ns"

  static constexpr auto fields() {
    using R = MetricRecord;
    return std::tuple(Field{"name", &R::name}, Field{"formula", &R::formula});
  }
  bool operator==(const MetricRecord&) const = default;
};

// The time of a peer, which is another implementation of an operator, for one problem on one GPU.
// Programs of others measured it, so it has no sweep. A text that nobody said is "".
struct PeerRecord {
  std::string name, version;  // "torch.compile", "2.11.0"
  std::string gpu;            // the model: "NVIDIA H200". It need not be among the store's GPUs.
  std::string method;         // of the timing, for example "graph" or "nvbench_cold"
  std::string driver, cuda, framework;  // "580.159.04", "13.0", "torch 2.11.0, triton 3.5.0"
  std::string measured_at;              // UTC, "2026-11-21T09:00:00Z"
  std::string source;                   // the file that it was imported from
  double median_ns = 0;
  double low_ns = 0, high_ns = 0;  // the spread of the samples, as the file has it; 0: none
  std::int64_t samples = 0;        // 0: the file does not say

  static constexpr auto fields() {
    using R = PeerRecord;
    return std::tuple(
        Field{"name", &R::name}, Field{"version", &R::version}, Field{"gpu", &R::gpu},
        Field{"method", &R::method}, Field{"median_ns", &R::median_ns, {.unit = "ns"}},
        Field{"low_ns", &R::low_ns, {.unit = "ns"}}, Field{"high_ns", &R::high_ns, {.unit = "ns"}},
        Field{"samples", &R::samples}, Field{"driver", &R::driver}, Field{"cuda", &R::cuda},
        Field{"framework", &R::framework}, Field{"measured_at", &R::measured_at},
        Field{"source", &R::source});
  }
  bool operator==(const PeerRecord&) const = default;
};

}  // namespace mgtune
