// Chooses the few variants that rules may name: those with which, if every problem could have the
// best of them, all problems together would lose least. A pure function.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/loss_table.h"

namespace mgtune {

// At most `count` variants for these problems, ascending; fewer if one more would gain nothing.
// They are chosen one by one, and then exchanged as long as an exchange lowers the total cost
// (k-median). The default ladder serves the problems that a variant cannot, and those where it
// is faster. Equal costs: the variant with the lower number.
std::vector<std::size_t> choose_representatives(const LossTable& table,
                                                std::span<const std::size_t> problems,
                                                std::size_t count);

}  // namespace mgtune
