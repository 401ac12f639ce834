// Measurements: the stored results of every variant of one operator, decoded against the operator's
// file. Rules are fitted to them. Plain data and pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"
#include "store/views.h"

namespace mgtune {

struct Measurements {
  // The result of one variant on one problem and GPU. gpu, problem and variant are indices into the
  // lists below.
  struct Row {
    std::uint32_t gpu, problem, variant;
    Outcome outcome;
    double median_ns;  // 0 if it has no time
  };

  std::vector<GpuRecord> gpus;
  std::vector<Problem> problems;
  std::vector<Variant> variants;
  std::vector<Row> rows;  // the times of a problem and GPU are all of one method
};

// Leaves out rows of other operators, rows of variants that the operator does not offer any more,
// and rows of problems that the operator cannot bind. If a problem has rows of several timing
// methods on a GPU, only the one that counts for tuned rows counts (method_rank() of the fastest
// time).
Measurements decode_measurements(const Operator& op, const MeasuredRows& measured);

// One flag per GPU of the measurements: whether it is interchangeable with `gpu`.
std::vector<bool> same_gpus(const Measurements& measurements, const GpuRecord& gpu);

}  // namespace mgtune
