// Times of other implementations as `mgtune peers list` prints them. Pure.

#pragma once

#include <string>
#include <vector>

#include "store/views.h"

namespace mgtune {

// A table per operator and GPU, and where the times come from. It says how to import some if there
// are none.
std::string peers_table(const std::vector<PeerView>& peers);

// {"format": 1, "peers": [{"operator", "problem", "name", "version", "gpu", "method", ...}]}
std::string peers_json(const std::vector<PeerView>& peers);

}  // namespace mgtune
