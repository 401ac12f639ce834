// What `mgtune explain` prints. Pure functions.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/explained_gpu.h"
#include "selection/cross_validation.h"
#include "selection/variant_selection.h"
#include "family/problem.h"

namespace mgtune {

struct SelectionReport {
  ExplainedGpu gpu;
  std::optional<Problem> problem;         // none: only the cross-validation was asked for
  std::vector<SelectedVariant> selected;  // best first
  std::vector<HeldOut> neighbors;         // the measured problems nearest to it, each held out
  std::vector<std::string> failed;        // variants that are never dispatched on this GPU
  std::vector<std::vector<HeldOut>> cross_validated;  // one list for each dtypes and flags
};

std::string selection_text(const SelectionReport& report);
std::string selection_json(const SelectionReport& report);

}  // namespace mgtune
