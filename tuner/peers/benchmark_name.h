// The names of benchmarks. File forms that have no field for the operator say in the name what was
// timed:
//
//   liger@0.6.2/rmsnorm.forward/rows:4096/hidden:4096/T:bf16
//
// Parts are separated by '/'. NAME:VALUE (or NAME=VALUE) is a value of the problem; Google
// Benchmark writes named arguments in this way. A part that is the full name of an operator is the
// operator. All other parts are the name of the implementation, with its version behind '@'. The
// parts that Google Benchmark adds (real_time, iterations:10, ...) and "BM_" at the beginning are
// ignored.

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

// invalid_argument if a value has no name or occurs twice, or if there is a second operator.
Result<BenchmarkName> parse_benchmark_name(std::string_view text, Catalog& catalog);

}  // namespace mgtune
