// The norm and linear instructions of the way `reference`. See execute.h.

#pragma once

#include "core/status.h"
#include "reference/row_access.h"

namespace mgtune::engine {

void execute_norm(RowAccess& access);
Status execute_linear(RowAccess& access);

// The position of a row. invalid_argument if it is not below the positions of the program.
Result<std::uint32_t> position_of(const RowAccess& access, std::uint32_t row);

}  // namespace mgtune::engine
