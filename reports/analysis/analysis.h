// ReportAnalysis: what a report computes from the rows of a model. It is made once, and every form
// of the report reads it. Plain data; immutable once made.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/best_so_far.h"
#include "analysis/importance.h"
#include "analysis/size_series.h"
#include "analysis/space_columns.h"
#include "model/report_model.h"

namespace mgtune {

// The importance for one problem and one method.
struct ProblemImportance {
  std::size_t problem = 0;  // index into the model's problems
  std::string method;
  Importance importance;  // with at least one design
  std::string note;       // in which way the figures are limited; "" if they are not
};

struct ReportAnalysis {
  std::vector<SpaceColumns> spaces;  // one per problem of the model
  std::vector<ProblemImportance> importance;
  std::vector<BestSoFar> best_so_far;
  std::vector<SizeSeries> sizes;
};

ReportAnalysis analyze(const ReportModel& model);

}  // namespace mgtune
