// Draws problems at random, or chooses among given ones, for a sweep whose results are used to fit
// rules (`mgtune sweep --for-rules`). Pure functions: the same seed gives the same problems.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {

struct RandomProblems {
  std::size_t count = 0;
  // "rows=1:65536,hidden=128:16384:128": the smallest and the largest value of a dim, and the step
  // of its values. A dim that is not named gets its smallest and largest value from the operator's
  // own problems. If it is a static dim, its step is the greatest power of two, up to 64, that
  // divides all of these values.
  std::string ranges;
  std::vector<DType> dtypes;  // as in ProblemRequest
  std::uint64_t seed = 1;
};

// Draws the logarithm of every dim uniformly; dtypes, flags and optional tensors come from one of
// the operator's own problems. A draw that breaks a constraint of the operator, that moves more
// bytes than the largest of the operator's own problems, or that was drawn before is drawn again.
// invalid_argument for wrong words, and if too few draws are possible.
Result<std::vector<Problem>> draw_problems(const Operator& op, const RandomProblems& wanted,
                                           DeviceKind device);

// `count` of the problems of each operator, chosen at random; all if there are not as many. They
// keep their order.
std::vector<Problem> choose_problems(std::vector<Problem> given, std::size_t count,
                                     std::uint64_t seed);

// Draws problems in the same way between the smallest and the largest value that each dim has in
// `examples`, which must not be empty. No drawn problem is an example. Fewer than `count` if there
// are not as many.
std::vector<Problem> draw_problems_like(const std::vector<Problem>& examples, std::size_t count,
                                        std::uint64_t seed);

}  // namespace mgtune
