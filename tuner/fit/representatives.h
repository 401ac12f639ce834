// Chooses the few variants that rules may name. If every problem could use the best of them, the
// total loss over all problems would be the smallest. A pure function.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/loss_table.h"

namespace mgtune {

// Returns at most `count` variants for these problems, in ascending order; fewer if another one
// would gain nothing. They are chosen one by one, and then exchanged as long as an exchange lowers
// the total cost (k-median). The default ladder serves the problems that a variant cannot, and the
// problems where the ladder is faster. If costs are equal, the variant with the lower number is
// chosen.
std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::size_t> problems,
                                                std::size_t count);

}  // namespace mgtune
