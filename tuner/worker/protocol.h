// The messages between the mgtune process and its child processes: one JSON object a line.
//
// A worker has one request at a time. It answers `begin` (and flushes) before it does anything for
// the variant, so that a crash or a hang has a culprit, and again where it begins to work for all
// variants of the problem (phase `reference`, its message naming what runs) or goes back to this
// one (phase `variant`). Then `done`, or `failed` when what went wrong says nothing about the
// variant: a full disk, a compiler that was killed, a reference that does not compile. A measure
// or count worker owns one device, a compile worker none. All exit when their standard input
// closes, and die with their parent.
//
//   parent -> worker   {"do": "measure", "id": 7, "kernel": "rmsnorm", "op": "rmsnorm.forward",
//                       "problem": "rows=64 hidden=256 T=bf16", "variant": "row VEC=8 ...",
//                       "device": "cpu", "stop_above_ns": 0}
//                      {"do": "compile", ... likewise}
//                      {"do": "count", ... likewise, with "tier": 1 for "stop_above_ns"}
//                      {"do": "ceiling", "id": 8, "device": "GPU-...", "ceiling": "copy",
//                       "bytes": 67108864}
//                      {"do": "final", "id": 9, "kernel": ..., "op": ..., "problem": ...,
//                       "device": ..., "variants": ["row VEC=8 ...", "row VEC=4 ...", ...]}
//   worker -> parent   {"did": "begin", "id": 7, "phase": "variant", "message": ""}
//                      {"did": "done", "id": 7, "outcome": "ok", "message": "",
//                       "build": {...}, "check": {...}, "measurement": {...}}
//                      {"did": "done", "id": 7, ... "check": {...}, "counters": {"chip": "GH100",
//                       "launches": 16, "passes": 2, "note": "",
//                       "values": {"dram_read_bytes": 33580000, ...}, "left_out": []}}
//                      {"did": "failed", "id": 7, "status": "io", "message": "cannot write ..."}
//
// Decoding is strict: a missing, unknown or mistyped key is corrupt. A number that is not finite
// travels as the string "inf", "-inf" or "nan"; bytes that are not UTF-8 (a compiler's, a crash's)
// as U+FFFD.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

struct WorkRequest {
  enum class Kind : std::uint8_t { compile, measure, count, ceiling, final };
  Kind kind = Kind::measure;
  std::int64_t id = 0;
  std::string kernel;   // what --kernel named: a family or a folder
  std::string op;       // "rmsnorm.forward"
  std::string problem;  // Problem::text()
  std::string variant;  // variant_text()
  std::string device;   // DeviceInfo::id of the device it is for
  double stop_above_ns = 0;
  int tier = 1;  // of a count: which sets of counters
  // Of a ceiling, which has an id and a device besides, nothing else.
  std::string ceiling;  // one of ceiling_kinds()
  std::int64_t bytes = 0;
  std::vector<std::string> variants;  // of a final, instead of variant; one may stand twice
};

// What a final measured: of each variant of the request one sample a round.
struct FinalSamples {
  std::vector<std::vector<double>> samples_ns;
  std::string note;
  ClockRecord clocks;
};

// What the hardware counted of one launch of a variant.
struct VariantCounters {
  std::string chip;                   // "GH100"
  std::int64_t launches = 0;          // that the values are the mean of
  std::int64_t passes = 0;            // they ran this often
  std::string note;                   // of the buffers' rotation; "" or why it falls short
  std::vector<CounterRecord> values;  // by the names of counters/counter_sets.h
  std::vector<std::string> left_out;  // "wgmma_instructions: TU102 has no metric for it"
};

struct WorkReply {
  enum class Kind : std::uint8_t { begin, done, failed };
  enum class Phase : std::uint8_t { variant, reference };  // whom a crash or hang belongs to
  Kind kind = Kind::done;
  std::int64_t id = 0;
  std::string message;
  Phase phase = Phase::variant;  // of begin
  // Of failed. The compile pool also gives it to what is done, where the machine's limits are what
  // the variant failed by: such a row is not remembered with the build.
  StatusCode failure = StatusCode::ok;
  Outcome outcome = Outcome::ok;  // of done, like all that follows
  std::optional<BuildRecord> build;
  std::optional<CheckRecord> check;
  std::optional<MeasurementRecord> measurement;
  std::optional<CeilingRecord> ceiling;
  std::optional<FinalSamples> final;
  std::optional<VariantCounters> counters;
};

std::string encode(const WorkRequest& request);  // one line, without the newline
std::string encode(const WorkReply& reply);
Result<WorkRequest> decode_request(const std::string& line);  // corrupt when malformed
Result<WorkReply> decode_reply(const std::string& line);

}  // namespace mgtune
