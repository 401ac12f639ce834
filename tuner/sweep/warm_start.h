// Finds where the search of a problem starts: with the fastest variants of the nearest problem that
// was swept before. Problems on this GPU are nearer than problems on any other GPU. After that,
// dtypes of the same sizes and the same flags count, and then the distance of the dims. The search
// tries these variants early, but does not rely on their times. One thread.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "search/search.h"
#include "space/variant_set.h"
#include "store/store.h"

namespace mgtune {

struct WarmSource {
  WarmStart variants;  // admitted by the set, the fastest first; empty if nothing is known
  std::string origin;  // "rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
};

// `set` is the space of `problem` on `device`. The times of a neighbor that were measured by
// `method` count. If there are none, the times of another method count. The problem itself on this
// GPU is not a neighbor.
Result<WarmSource> find_warm_start(Store& store, const Problem& problem, const DeviceInfo& device,
                                   const VariantSet& set, const std::string& method);

// The picks of problems of the same operator on the same GPU, from the nearest problem to the
// farthest, each variant once. At most `count`, and only variants that the set admits.
Result<std::vector<Variant>> winners_nearby(Store& store, const Problem& problem,
                                            const DeviceInfo& device, const VariantSet& set,
                                            std::size_t count);

}  // namespace mgtune
