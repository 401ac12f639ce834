// The parts of a report that have no data, with the command that produces the data. Pure.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "model/report_model.h"

namespace mgtune {

struct MissingPart {
  std::string part;     // one of report_parts()
  std::string text;     // a sentence
  std::string command;  // "" if no command produces it
};

// picks, roofline, importance, heat_map, parallel, best_so_far, finals, sizes, counters, failures,
// pruning, environment, baseline
std::span<const std::string_view> report_parts();

std::vector<MissingPart> missing_parts(const ReportModel& model, const ReportAnalysis& analysis,
                                       bool with_baseline);

// The sentence for one of report_parts(), and a newline: "No counters were read. This fills it:
// mgtune sweep ... --counters". "" if the report has data for it.
std::string missing_text(const ReportModel& model, const ReportAnalysis& analysis,
                         std::string_view part);

// "mgtune sweep --kernel rmsnorm.forward --gpu 'NVIDIA H200'", for the operator and GPU that most
// of the model is about.
std::string sweep_command(const ReportModel& model);

}  // namespace mgtune
