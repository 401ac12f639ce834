// The names of benchmarks, from which the forms that know no operators take what was timed:
//
//   liger@0.6.2/rmsnorm.forward/rows:4096/hidden:4096/T:bf16
//
// Parts are separated by '/'. NAME:VALUE (or NAME=VALUE) is a value of the problem; Google
// Benchmark writes its arguments so if they have names. A part that is the full name of an operator
// is the operator. All other parts are the name of the implementation, with its version behind '@'.
// What Google Benchmark adds (real_time, iterations:10, ...) is not used, nor is "BM_" in front.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "family/catalog.h"

namespace mgtune {

struct BenchmarkName {
  std::string peer, version;  // "" if the name does not have them
  std::string op;
  ProblemValues problem;
};

// invalid_argument for a value that has no name or stands there twice, and for a second operator.
Result<BenchmarkName> parse_benchmark_name(std::string_view text, Catalog& catalog);

}  // namespace mgtune
