// Runs requests for trials in several processes at once, as many as the machine has processors.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "family_check/trial.h"

namespace mgtune {

// The results of each request, in the order of the requests and of their items. A Status if no
// process can be started for one of them.
Result<std::vector<std::vector<TrialResult>>> run_in_parallel(
    const std::string& program, const std::vector<TrialRequest>& requests);

}  // namespace mgtune
