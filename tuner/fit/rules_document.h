// Rules as the text of a rules file, which selection/rules.h reads. A pure function.

#pragma once

#include <string>
#include <vector>

#include "fit/fit.h"
#include "fit/fit_data.h"
#include "fit/loss_table.h"
#include "fit/rule_tree.h"

namespace mgtune {

// The measured problems are the first ones of the table. `left_out` has the loss of each of them
// under rules that were fitted without this problem.
std::string rules_document(const FitData& data, const LossTable& table, const RuleTree& tree,
                           const std::vector<double>& left_out, const FittedRules& summary,
                           const std::string& command, const std::string& commit);

}  // namespace mgtune
