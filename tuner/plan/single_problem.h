// One operator and one problem, for commands that take exactly one of each. The functions keep no
// state.

#pragma once

#include <string>

#include "core/status.h"
#include "device/device.h"
#include "family/catalog.h"
#include "family/problem.h"

namespace mgtune {

// The operator that `kernel` names. invalid_argument, with the operators listed, if it names
// several.
Result<const Operator*> only_operator(Catalog& catalog, const std::string& kernel);

// The problem that `problem` ("rows=4096,hidden=4096") names, or the operator's own if it has only
// one. invalid_argument, with the problems listed, if several remain.
Result<Problem> only_problem(const Operator& op, const std::string& problem, DeviceKind device);

}  // namespace mgtune
