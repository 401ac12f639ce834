// Admission: whether a variant may serve a problem, as far as that is known before it is built.
// Constraints that need build.* count as true; LoadedVariant::serves() decides. Pure functions.

#pragma once

#include <optional>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Whether requirements and constraints are true. Also false if evaluating one fails.
bool may_serve(const Problem& problem, const Variant& variant, const DeviceLimits& device);

// The slots of a variant that may serve the problem, with the lets of every stage evaluated.
// build.* counts as 1; a let that then fails is 0. nullopt if the variant may not serve.
std::optional<Slots> serving_slots(const Problem& problem, const Variant& variant,
                                   const DeviceLimits& device);

// Whether the design needs no more alignment of any pointer than every caller guarantees
// (Tensor::align, otherwise the element's size). Only for a variant that may serve the problem.
bool accepts_any_pointer(const Problem& problem, const Variant& variant,
                         const DeviceLimits& device);

}  // namespace mgtune
