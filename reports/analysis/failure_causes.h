// Failure causes: the variants that failed, grouped by what went wrong, each group with the
// parameters, dtypes and dims that it has in common. Computed from the outcomes alone. Pure.
//
// Two messages say the same if they differ only in numbers, so "y[3, 17] is 0.5, ..." and "y[0, 4]
// is 0.7, ..." are one cause. Operators and GPUs are looked at one by one.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/variant_words.h"
#include "model/report_model.h"

namespace mgtune {

// How many of the variants with one value failed for this cause.
struct ValueShare {
  Assignment value;  // "THREADS", "256"
  std::size_t failed = 0, all = 0;
};

struct FailureCause {
  Outcome outcome;
  std::string message;                // of the first variant: the whole message
  std::vector<std::size_t> variants;  // indices into the model's variants, at least one
  // A small set of values that all these variants have, such that adding another value which they
  // all have would exclude no other variant of the operator on the GPU. A design counts as the
  // value of "design".
  std::vector<Assignment> conditions;
  std::size_t matching = 0;  // variants of the operator that meet the conditions
  // If only some of the matching variants failed: the values of the name whose shares differ most.
  std::vector<ValueShare> shares;

  bool is_every() const { return variants.size() == matching; }
};

// By operator and GPU in the order of the model's variants, then the most frequent cause first.
std::vector<FailureCause> failure_causes(const ReportModel& model);

}  // namespace mgtune
