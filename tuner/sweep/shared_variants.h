// The variants that were fast at other problems of an operator. A sweep for rules measures them at
// every problem, so that a fit can compare them everywhere.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "store/records.h"
#include "store/store.h"

namespace mgtune {

// Of the results by `method` on the GPU, without those of the problem itself: at most 40 variants
// that are within 2 % of the fastest of some problem, and that `admits` accepts. They are chosen so
// that as many problems as possible have one of them among their fast variants, then a second one,
// and so on: many variants that are fast at the same few problems would say little about the
// others.
Result<std::vector<Variant>> shared_variants(Store& store, const Problem& problem,
                                             const GpuRecord& gpu, const std::string& method,
                                             const std::function<bool(const Variant&)>& admits);

}  // namespace mgtune
