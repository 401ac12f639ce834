// Admission: whether a variant may serve a problem, as far as can be told before it is built.
// Constraints that need build.* count as holding; LoadedVariant::serves() has the last word.
// Pure functions.

#pragma once

#include <optional>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Whether requirements and constraints hold. False also where evaluating one fails.
bool may_serve(const Problem& problem, const Variant& variant, const DeviceLimits& device);

// The slots of a variant that may serve the problem, lets of every stage evaluated; what depends on
// build.* is evaluated with 1 for each, 0 where that fails. nullopt where it may not serve.
std::optional<Slots> serving_slots(const Problem& problem, const Variant& variant,
                                   const DeviceLimits& device);

// Whether the design asks no more of any pointer than every caller guarantees (Tensor::align, else
// the element's size). Only of a variant that may serve the problem.
bool accepts_any_pointer(const Problem& problem, const Variant& variant,
                         const DeviceLimits& device);

}  // namespace mgtune
