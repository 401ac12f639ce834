// ReportAnalysis: what a report works out from a model's rows beyond them. Made once and read by
// every form of the report. Plain data; immutable once made.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/best_so_far.h"
#include "analysis/importance.h"
#include "model/report_model.h"
#include "analysis/size_series.h"
#include "analysis/space_columns.h"

namespace mgtune {

// Of one problem by one method.
struct ProblemImportance {
  std::size_t problem = 0;  // of the model's problems
  std::string method;
  Importance importance;  // with at least one design
  std::string note;       // what the figures fall short of; "" for nothing
};

struct ReportAnalysis {
  std::vector<SpaceColumns> spaces;  // one per problem of the model
  std::vector<ProblemImportance> importance;
  std::vector<BestSoFar> best_so_far;
  std::vector<SizeSeries> sizes;
};

ReportAnalysis analyze(const ReportModel& model);

}  // namespace mgtune
