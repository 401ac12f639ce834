// The variants that were fast at other problems of an operator. A sweep for rules measures them at
// every problem, so that a fit can compare them everywhere.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"
#include "store/store.h"

namespace mgtune {

// Of the results by `method` on the GPU, without those of the problem itself: the variants that are
// within 3 % of the fastest of a problem, at most 40, those first that are so at most problems.
Result<std::vector<Variant>> shared_variants(Store& store, const Problem& problem,
                                             const GpuRecord& gpu, const std::string& method);

}  // namespace mgtune
