// The attention instructions of the way `reference`. See execute.h.

#pragma once

#include "core/status.h"
#include "reference/row_access.h"

namespace mgtune::engine {

Status execute_attention(RowAccess& access);  // whole, or in parts
void execute_attention_reduce(RowAccess& access);

}  // namespace mgtune::engine
