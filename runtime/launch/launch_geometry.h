// LaunchGeometry: the size of a variant's launch, from the operator's file alone: how many threads,
// in which blocks. Variants of different designs and problems of different sizes have this in
// common, so measurements of one say something about the others. Pure functions.

#pragma once

#include <cstdint>
#include <optional>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// If the variant has several launches, this is the one with the most threads.
struct LaunchGeometry {
  double blocks = 1, threads_per_block = 1;
  double shared_bytes = 0;  // dynamic, of a block
};

// nullopt if the variant does not serve the problem, as far as that is known before it is built:
// build.blocks_per_sm counts as 1.
std::optional<LaunchGeometry> launch_geometry(const Problem& problem, const Variant& variant,
                                              const DeviceLimits& device);

}  // namespace mgtune
