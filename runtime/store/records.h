// The rows of the store as plain structs, in the words of CONTRIBUTING.md. Values: use from several
// threads needs the caller's own order.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "store/field.h"

namespace mgtune {

// How a variant ended on a problem. The texts are the words in SQL, JSON and on the screen.
enum class Outcome : std::uint8_t {
  ok,
  wrong,
  crashed,
  timeout,
  compile_failed,
  launch_failed,
  unsupported,
  raced_out,  // clearly slower than the best so far; its measurement is cut short
  unstable,
};
std::string_view to_string(Outcome outcome);
std::optional<Outcome> outcome_from_string(std::string_view text);

// What makes two GPUs interchangeable for results. "cpu" is one, and marked as emulation.
struct GpuRecord {
  std::string model;  // "NVIDIA H200"; "cpu"
  std::string arch;   // "sm_90"; "cpu"
  std::int64_t sm_count = 0, l2_bytes = 0, memory_bytes = 0, max_shared_bytes = 0;
  std::string mig_profile;
  bool emulation = false;  // times are emulation times: never compared with a GPU's

  static constexpr auto fields() {
    using R = GpuRecord;
    return std::tuple(Field{"model", &R::model}, Field{"arch", &R::arch},
                      Field{"sm_count", &R::sm_count},
                      Field{"l2_bytes", &R::l2_bytes, {.unit = "bytes"}},
                      Field{"memory_bytes", &R::memory_bytes, {.unit = "bytes"}},
                      Field{"max_shared_bytes", &R::max_shared_bytes, {.unit = "bytes"}},
                      Field{"mig_profile", &R::mig_profile}, Field{"emulation", &R::emulation});
  }
  bool operator==(const GpuRecord&) const = default;
};

// What may change between two runs on one GPU.
struct EnvironmentRecord {
  std::string mgtune_version, compiler, driver;
  std::string system;  // "Debian GNU/Linux 12, Linux 6.1, x86_64"

  static constexpr auto fields() {
    using R = EnvironmentRecord;
    return std::tuple(Field{"mgtune_version", &R::mgtune_version}, Field{"compiler", &R::compiler},
                      Field{"driver", &R::driver}, Field{"system", &R::system});
  }
  auto operator<=>(const EnvironmentRecord&) const = default;
};

// What the compiler reported about a binary's kernels; -1 if it did not.
struct BuildResources {
  int registers = -1, spill_bytes = -1, static_shared_bytes = -1;

  static constexpr auto fields() {
    using R = BuildResources;
    return std::tuple(Field{"registers", &R::registers},
                      Field{"spill_bytes", &R::spill_bytes, {.unit = "bytes"}},
                      Field{"static_shared_bytes", &R::static_shared_bytes, {.unit = "bytes"}});
  }
  bool operator==(const BuildResources&) const = default;
};

struct BuildRecord : BuildResources {
  std::string key;     // of the request
  std::string sha256;  // of the binary; "" when there is none
  std::string arch;
  std::string message;            // why it failed; else the compiler's warnings
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

// What checks and measurements belong to. An edit that leaves the binary identical voids nothing.
struct ResultKey {
  std::int64_t gpu = 0, problem = 0;  // row ids
  std::string build_sha256;
  std::string launch_hash;     // of everything outside the binary that shapes the launches
  std::string reference_hash;  // of the reference, fills, tolerances; part of checks only
};

struct CheckRecord {
  Outcome outcome = Outcome::ok;  // ok, wrong, crashed, timeout, launch_failed, unsupported
  std::string message;            // "" when ok
  double error = 0;               // in the operator's measure, the worst over outputs and seeds
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

// What NVML said of the GPU around some samples; 0 and "" where nobody watched or it did not say.
struct ClockRecord {
  double sm_mhz = 0, memory_mhz = 0, power_w = 0, temperature_c = 0;  // medians
  std::string throttle_reasons;        // "sw_power_cap hw_thermal_slowdown"
  std::int64_t throttled_samples = 0;  // taken again while that was worth it, then kept

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
  // "rotating", "emulation", ...: rows of different methods are never ranked together
  std::string method;
  double median_ns = 0, q1_ns = 0, q3_ns = 0, min_ns = 0;
  std::int64_t samples = 0;
  std::string note;                              // e.g. "problem too small to rotate"
  double median_low_ns = 0, median_high_ns = 0;  // 95 % interval of the median; 0 in rows before it
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

// What a GPU can do at most, as measured on it.
struct CeilingRecord {
  std::string kind;        // "copy", "read", "fp32", "mma_bf16", "wgmma_bf16", ...
  std::string method;      // of the timing
  std::int64_t bytes = 0;  // moved by copy (read and written together) and read; else 0
  double rate = 0;  // bytes a second of copy and read, else floating-point operations a second
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

// One of the variants that were timed in turn at the end of a problem's sweep.
struct FinalistRecord {
  std::string variant, build_sha256, launch_hash;
  double median_ns = 0, median_low_ns = 0, median_high_ns = 0;  // with its 95 % interval
  // Its time over the default's in the same round: the median over rounds, and its 95 % interval.
  // Over that of the fastest single measurement where the default does not run.
  double ratio = 0, ratio_low = 0, ratio_high = 0;
  bool tied = false;               // not told apart from the fastest
  std::vector<double> samples_ns;  // one a round, in the order of the rounds

  static constexpr auto fields() {
    using R = FinalistRecord;
    return std::tuple(
        Field{"median_ns", &R::median_ns, {.unit = "ns"}},
        Field{"median_low_ns", &R::median_low_ns, {.unit = "ns", .page_name = "low_ns"}},
        Field{"median_high_ns", &R::median_high_ns, {.unit = "ns", .page_name = "high_ns"}},
        Field{"ratio", &R::ratio}, Field{"ratio_low", &R::ratio_low},
        Field{"ratio_high", &R::ratio_high}, Field{"tied", &R::tied});
  }
};

// The final of one problem: the fastest variants and the default in random round robin.
struct FinalRecord {
  std::int64_t sweep = 0, gpu = 0, problem = 0;  // row ids
  std::string method;
  // How far the ratio of two entries of the same variant is from 1, its interval included: what is
  // below is noise. 0.004 is 0.4 %.
  double noise_floor = 0;
  std::vector<FinalistRecord> finalists;  // the fastest first
  ClockRecord clocks;
  std::string note;  // what the timing fell short of
  // Why --counters did not count all finalists; "" if it did, or was not asked.
  std::string not_counted;

  static constexpr auto fields() {
    using R = FinalRecord;
    return std::tuple(Field{"method", &R::method}, Field{"noise_floor", &R::noise_floor},
                      Field{"note", &R::note}, Field{"not_counted", &R::not_counted},
                      Field{"clocks", &R::clocks});
  }
};

// Points of a design's space that were lost to one requirement, constraint or failing let: the
// first that fails counts.
struct PrunedRecord {
  std::string rule;
  std::int64_t points = 0;

  static constexpr auto fields() {
    using R = PrunedRecord;
    return std::tuple(Field{"rule", &R::rule}, Field{"points", &R::points});
  }
  bool operator==(const PrunedRecord&) const = default;
};

// What of a design's space was left for one problem on one GPU before anything was compiled.
struct SpaceRecord {
  std::string design;
  std::int64_t points = 0, admissible = 0;
  bool counted = true;      // false: a large space; `admissible` and `pruned` are of a part of it
  std::string unavailable;  // the requirement that rules out the whole design, else ""
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

// One variant on one problem: everything that its transaction writes.
struct OutcomeRecord {
  std::int64_t sweep = 0;
  ResultKey key;        // build_sha256 "" when there is no binary
  std::string variant;  // variant_text()
  Outcome outcome = Outcome::ok;
  std::string message;
  BuildRecord build;  // key "" when it did not come to a build
  std::optional<CheckRecord> check;
  std::optional<MeasurementRecord> measurement;
};

// Which variant serves a problem on a GPU, and what it is compared with.
struct TunedRecord {
  std::int64_t sweep = 0, gpu = 0, problem = 0;  // row ids
  std::string variant, build_sha256;
  std::string default_variant;
  std::string method;
  double median_ns = 0, default_median_ns = 0;
  bool tie = false;  // the best did not beat the default beyond noise: the default stays

  static constexpr auto fields() {
    using R = TunedRecord;
    return std::tuple(Field{"build_sha256", &R::build_sha256}, Field{"method", &R::method},
                      Field{"median_ns", &R::median_ns, {.unit = "ns"}},
                      Field{"default_median_ns", &R::default_median_ns, {.unit = "ns"}},
                      Field{"tie", &R::tie});
  }
  bool operator==(const TunedRecord&) const = default;
};

// ---- joined rows ----

struct TunedView {
  TunedRecord tuned;
  GpuRecord gpu;
  std::string op;               // "rmsnorm.forward"
  std::string problem;          // problem text
  double bytes = 0, flops = 0;  // of the problem's cost
  double copy_ns = 0;           // the newest ceiling of GPU, method and bytes; 0 when there is none
};

// How every variant did on every problem, by place in the lists: a hundred thousand rows are some
// megabytes. The newest of a (gpu, problem, variant, method) alone.
struct MeasuredRows {
  struct ProblemText {
    std::string op, text;
  };
  struct Row {
    std::uint32_t gpu = 0, problem = 0, variant = 0;
    std::uint32_t method = 0;  // of `methods`; of a row without a time, 0
    std::uint32_t driver = 0;  // of `drivers`
    Outcome outcome = Outcome::ok;
    double median_ns = 0;  // of ok and raced_out, which passed their checks; else 0
  };
  std::vector<GpuRecord> gpus;
  std::vector<ProblemText> problems;
  std::vector<std::string> variants;  // variant_text()
  std::vector<std::string> methods = {""};
  std::vector<std::string> drivers;
  std::vector<Row> rows;
};

struct FinalView {
  FinalRecord final;
  GpuRecord gpu;
  std::string op, problem;
};

struct CeilingView {
  CeilingRecord ceiling;
  std::int64_t sweep = 0;
  std::int64_t gpu_id = 0;
  std::string driver;
};

// The counters of one variant on one problem, of the newest run that counted them.
struct CounterView {
  std::int64_t sweep = 0;
  std::int64_t gpu_id = 0;
  std::string op, problem, variant, build_sha256, launch_hash;
  std::vector<CounterRecord> counters;  // in the order they were recorded
};

struct SpaceView {
  std::int64_t sweep = 0;
  std::int64_t gpu_id = 0;
  std::string op, problem;
  SpaceRecord space;
};

struct OutcomeView : BuildResources {
  std::int64_t id = 0;      // of the row: ascends in the order in which variants were recorded
  std::string recorded_at;  // UTC, "2026-11-21T09:00:00.123Z"; "" of imports and older rows
  std::int64_t sweep = 0;
  GpuRecord gpu;
  std::int64_t gpu_id = 0;
  std::string op, problem, variant;
  double bytes = 0, flops = 0;
  Outcome outcome = Outcome::ok;
  std::string message;
  std::string build_sha256;
  std::string launch_hash;  // of the measurement; "" without one
  std::optional<CheckRecord> check;
  std::optional<MeasurementRecord> measurement;
};

struct SweepView {
  SweepRecord sweep;
  GpuRecord gpu;
  EnvironmentRecord environment;
};

}  // namespace mgtune
