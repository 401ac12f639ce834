// Where the search of a problem starts: the fastest variants of the nearest problem that was swept
// before, by the distances with which the runtime serves a problem that nobody tuned
// (runtime/dispatch): this GPU before the nearest other one, then the same dtypes and flags, then
// the nearest dims. They are tried early, and nothing of them is believed. One thread.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "search/search.h"
#include "space/variant_set.h"
#include "store/store.h"

namespace mgtune {

struct WarmSource {
  WarmStart variants;  // admitted by the set, the fastest first; empty where nothing is known
  std::string origin;  // "rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
};

// `set` is the space of `problem` on `device`. Of a neighbor's times those of `method` count, or
// of the first other one that it has. Results of the problem itself on this GPU are no neighbor's.
Result<WarmSource> find_warm_start(Store& store, const Problem& problem, const DeviceInfo& device,
                                   const VariantSet& set, const std::string& method);

}  // namespace mgtune
