// The lines that a trial's process and its parent exchange (trial.h). Pure functions.

#pragma once

#include <cstddef>
#include <string>

#include "core/status.h"
#include "family_check/trial.h"

namespace mgtune {

std::string encode(const TrialRequest& request);
Result<TrialRequest> decode_trial_request(const std::string& word);  // corrupt if malformed

struct TrialLine {
  std::size_t item = 0;
  bool is_done = false;  // false: a stage begins
  TrialResult result;
};

std::string encode(const TrialLine& line);                     // without the newline
Result<TrialLine> decode_trial_line(const std::string& line);  // corrupt if malformed

}  // namespace mgtune
