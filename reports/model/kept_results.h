// Reduces the rows of a store to the results that a reader wants. Pure.

#pragma once

#include <functional>
#include <string>

#include "model/report_model.h"

namespace mgtune {

using WantsResult = std::function<bool(const std::string& op, const GpuRecord& gpu)>;

// Keeps the picks and outcomes that `wants` accepts, and the ceilings and sweeps that belong to
// them. Returns whether any pick or outcome is left.
bool keep_results(StoredRows& rows, const WantsResult& wants);

}  // namespace mgtune
