// Picks and failures as a database or a tuned table has them: as words, not decoded against the
// operators. Plain data, without locks.

#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "database/field.h"
#include "database/gpu_record.h"
#include "database/outcome.h"

namespace mgtune {

// The key by which a program finds a pick: what a plan fixes, and how large the problem is
// (selection/pick_key.h). A pick that mgtune stored before format 7 has no key.
struct PickKey {
  std::string kind;  // "rmsnorm.forward hidden=4096 T=bf16"; "": there is no key
  double size = 0;   // the log2 of the product of the dims that a launch chooses
  bool operator==(const PickKey&) const = default;
};

// A problem, and the values of its cost formulas.
struct ProblemRecord {
  std::string op, text;
  double bytes = 0, flops = 0;
  PickKey key = {};  // of its picks
};

// Which variant serves a problem on a GPU, and what it is compared with.
struct TunedRecord {
  std::int64_t sweep = 0, gpu = 0, problem = 0;  // row ids
  std::string variant, build_sha256;
  std::string default_variant;
  std::string method;
  double median_ns = 0, default_median_ns = 0;
  bool tie = false;  // no variant beat the default by more than the noise, so the default stays
  PickKey key = {};

  static constexpr auto fields() {
    using R = TunedRecord;
    return std::tuple(Field{"build_sha256", &R::build_sha256}, Field{"method", &R::method},
                      Field{"median_ns", &R::median_ns, {.unit = "ns"}},
                      Field{"default_median_ns", &R::default_median_ns, {.unit = "ns"}},
                      Field{"tie", &R::tie});
  }
  bool operator==(const TunedRecord&) const = default;
};

struct TunedView {
  TunedRecord tuned;
  GpuRecord gpu;
  std::string op;               // "rmsnorm.forward"
  std::string problem;          // problem text
  double bytes = 0, flops = 0;  // of the problem's cost
  double copy_ns = 0;  // time of a copy of the same bytes (store/copy_times.h); 0: not read
};

// A variant whose newest result on a problem and GPU is a failure. After such a failure the variant
// is never run on that GPU.
struct FailureView {
  GpuRecord gpu;
  std::string op, variant;
  Outcome outcome = Outcome::wrong;
};

}  // namespace mgtune
