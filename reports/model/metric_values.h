// The values of the user's metrics for every variant and pick of a model. Pure.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/report_model.h"
#include "store/views.h"

namespace mgtune {

// Adds the names to the model's problems, and the values to its variants and picks. A formula that
// cannot be read, because a newer version wrote it, has no values.
void add_metrics(std::span<const MetricsView> metrics, ReportModel& model);

// The names of the metrics of these problems (indices into the model's problems), each once.
std::vector<std::string> metric_names(const ReportModel& model,
                                      std::span<const std::size_t> problems);

// The value of the metric `name` among those of a row of the problem; nullopt if it has none.
std::optional<double> metric_value(const ReportProblem& problem,
                                   std::span<const std::optional<double>> values,
                                   std::string_view name);

}  // namespace mgtune
