// The messages between the mgtune process and its workers: one JSON object per line.
//
// A worker works on one request at a time, and may already hold the next ones. It sends `begin` and
// flushes it before it does anything for the variant: if it crashes or hangs afterwards, the parent
// knows which variant was running. It sends `begin` again with phase `reference` before it runs the
// problem's reference (the message names the reference) and with phase `variant` when it returns to
// the variant. At the end it sends `done`, or `failed` if the failure says nothing about the
// variant: a full disk, a compiler that was killed, a reference that does not compile. A measure or
// count worker owns one device; a compile worker owns none. All workers exit when their standard
// input closes, and are killed when their parent ends.
//
//   parent -> worker   {"do": "compile", "id": 6, "kernel": "rmsnorm", "op": "rmsnorm.forward",
//                       "problem": "rows=64 hidden=256 T=bf16", "variant": "row VEC=8 ...",
//                       "device": "GPU-...", "others": ["row VEC=4 ...", ...]}
//                      {"do": "measure", "id": 7, ... the same four ..., "stop_above_ns": 1234.5,
//                       "stop_above_mhz": 1980}
//                      {"do": "count", "id": 8, ... the same four ..., "tier": 1}
//                      {"do": "ceiling", "id": 9, "ceiling": "copy", "bytes": 67108864}
//                      {"do": "probe", "id": 11, "worker": "compile"}
//                      {"do": "final", "id": 10, "kernel": ..., "op": ..., "problem": ...,
//                       "variants": ["row VEC=8 ...", "row VEC=4 ...", ...]}
//                      {"do": "energy", "id": 12, ... the same four as of a final ...}
//   worker -> parent   {"did": "begin", "id": 7, "phase": "variant", "message": ""}
//                      {"did": "done", "id": 7, "outcome": "ok", "message": "",
//                       "build": {...}, "check": {...}, "measurement": {...},
//                       "seconds": {"load": 0.002, "check": 0.01, "measure": 0.3, "all": 0.313}}
//                      {"did": "done", "id": 8, ... "check": {...}, "counters": {"chip": "GH100",
//                       "launches": 16, "passes": 2, "note": "",
//                       "values": {"dram_read_bytes": 33580000, ...}, "left_out": []}}
//                      {"did": "done", "id": 6, ... "build": {...}, "code": "12ab...",
//                       "not_cached": "no space"}
//                      {"did": "failed", "id": 7, "status": "io", "message": "cannot write ..."}
//
// "others" is left out if there are none.
//
// Decoding is strict: a missing, unknown or mistyped key is corrupt. A number that is not finite is
// sent as the string "inf", "-inf" or "nan". Bytes that are not UTF-8, for example from a compiler
// or a crash, are replaced by U+FFFD.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

// The largest number of requests that a worker may hold, including the one that it works on. With
// three waiting requests, the GPU stays busy even if this process does not react for the time of
// three measurements.
inline constexpr std::size_t kMostRequests = 4;

// The members that several requests have in common. They use the words of the command line and of
// the store.
struct NamedProblem {
  std::string kernel;   // the value of --kernel: a family or a folder
  std::string op;       // "rmsnorm.forward"
  std::string problem;  // Problem::text()

  bool operator==(const NamedProblem&) const = default;
};

struct VariantRequest : NamedProblem {
  std::string variant;  // variant_text()
};

// Builds the variant into the build cache.
struct CompileRequest : VariantRequest {
  static constexpr std::string_view kKind = "compile";
  std::string device;  // DeviceInfo::id of the device to build for
  // Variants of the same problem that this worker will be asked for next. The worker compiles their
  // kernels together with this variant's kernels, and takes their builds from the cache when the
  // parent asks for them. The reply is about this variant only, except for `compile_seconds`. If
  // the worker crashes or misses its deadline, any of the variants may be at fault.
  std::vector<std::string> others = {};
};

// Builds, checks and times the variant.
struct MeasureRequest : VariantRequest {
  static constexpr std::string_view kKind = "measure";
  double stop_above_ns = 0;   // timing may stop if the variant is clearly slower; 0: never
  double stop_above_mhz = 0;  // the clock of that time, if times follow it (TimingBudget)
};

// Builds and checks the variant and reads hardware counters while it runs. The worker is not the
// one that times kernels, because CUPTI cannot record activities and count in the same process.
// Counting may fail, for example because a permission is missing; the caller should continue
// without counters.
struct CountRequest : VariantRequest {
  static constexpr std::string_view kKind = "count";
  int tier = 1;  // which sets of counters: see counters/counter_sets.h
};

// Measures the highest rate that the device reaches, for example its copy bandwidth.
struct CeilingRequest {
  static constexpr std::string_view kKind = "ceiling";
  std::string ceiling;  // one of ceiling_kinds()
  std::int64_t bytes = 0;
};

// Times several variants in turn. They have passed their checks; one may be named twice.
struct FinalRequest : NamedProblem {
  static constexpr std::string_view kKind = "final";
  std::vector<std::string> variants;
  double settle_seconds = 0;  // TurnBudget::settle_seconds
};

// Measures the energy of several variants, which have passed their checks. If the GPU has no energy
// counter, the reply is a failure (environment) that says so.
struct EnergyRequest : NamedProblem {
  static constexpr std::string_view kKind = "energy";
  std::vector<std::string> variants;
};

// Shows that the machine works, after a variant failed: a compile worker compiles a source that is
// known to be good, a measure worker runs a kernel that is known to be good. If the outcome is not
// `ok`, the machine is at fault.
struct ProbeRequest {
  static constexpr std::string_view kKind = "probe";
  std::string worker;  // the kind of the worker, for messages
};

struct WorkRequest {
  std::int64_t id = 0;
  std::variant<MeasureRequest, CompileRequest, CountRequest, CeilingRequest, FinalRequest,
               EnergyRequest, ProbeRequest>
      work = {};

  template <typename Kind>
  bool is() const {
    return std::holds_alternative<Kind>(work);
  }
};

// How long a measure worker took for each part of a variant.
struct WorkSeconds {
  double load = 0;  // also compiling, if the cache does not have the build
  double check = 0, measure = 0;
  double all = 0;  // since its last reply, or since the request came if this was later
};

struct WorkReply {
  enum class Kind : std::uint8_t { begin, done, failed };
  enum class Phase : std::uint8_t { variant, reference };  // what runs, and may crash or hang
  Kind kind = Kind::done;
  std::int64_t id = 0;
  std::string message;
  Phase phase = Phase::variant;  // of begin
  // Of failed. The pools also set it in a `done` reply if the machine's limits may have caused the
  // variant's failure. A compile result with it is stored without the build's key, so that a later
  // sweep compiles the variant again.
  StatusCode failure = StatusCode::ok;
  Outcome outcome = Outcome::ok;  // of done, like all fields below
  std::optional<BuildRecord> build;
  std::string code;  // of a build: machine_code_identity()
  // Set if a compiler made the build, and not if it came from the cache. With
  // CompileRequest::others it is the time for all of the variants.
  std::optional<double> compile_seconds;
  std::string not_cached;  // why the build could not be kept in the cache; "" if it was
  std::optional<CheckRecord> check;
  std::optional<MeasurementRecord> measurement;
  std::optional<CeilingRecord> ceiling;
  std::optional<TurnTiming> final;
  std::optional<TurnEnergy> energy;
  std::optional<VariantCounters> counters;
  std::optional<WorkSeconds> seconds;  // of a variant that was measured
};

std::string encode(const WorkRequest& request);  // one line, without the newline
std::string encode(const WorkReply& reply);
Result<WorkRequest> decode_request(const std::string& line);  // corrupt when malformed
Result<WorkReply> decode_reply(const std::string& line);

}  // namespace mgtune
