// Chooses the few variants that rules may name. Pure functions.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/loss_table.h"

namespace mgtune {

// Returns at most `count` variants for these problems, in ascending order; fewer if another one
// would gain nothing. If every problem could use the best of them, the total cost would be the
// smallest: they are chosen one by one, and then exchanged as long as an exchange lowers the total
// cost (k-median). The default ladder serves the problems that a variant cannot, and the problems
// where the ladder is faster. If costs are equal, the variant with the lower number is chosen.
std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::size_t> problems,
                                                std::size_t count);

// The same, but all problems of a group must use the same variant.
std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::vector<std::size_t>> groups,
                                                std::size_t count);

}  // namespace mgtune
