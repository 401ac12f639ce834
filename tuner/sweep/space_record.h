// What a space lost before anything was compiled, as the store keeps it. A pure function; of a
// large space it takes a third of a second at most.

#pragma once

#include <vector>

#include "space/space.h"
#include "store/records.h"

namespace mgtune {

// One for each design of the operator; numbers beyond 2^63 - 1 are that.
std::vector<SpaceRecord> space_records(const Space& space);

}  // namespace mgtune
