// LaunchGeometry: what a launch of a variant looks like to a GPU, from the operator's file alone:
// how many threads, in what blocks. It is what variants of different designs and problems of
// different sizes have in common, so what is known of one tells something of the others.
// Pure functions.

#pragma once

#include <cstdint>
#include <optional>

#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Of the launch with the most threads, where a variant has several.
struct LaunchGeometry {
  double blocks = 1, threads_per_block = 1;
  double shared_bytes = 0;  // dynamic, of a block
};

// nullopt where the variant does not serve the problem, as far as can be told before it is built:
// build.blocks_per_sm counts as 1.
std::optional<LaunchGeometry> launch_geometry(const Problem& problem, const Variant& variant,
                                              const DeviceLimits& device);

}  // namespace mgtune
