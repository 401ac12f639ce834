// The failures of a report in words, grouped by cause. Each text ends with a newline. Pure.

#pragma once

#include <cstddef>
#include <string>

#include "model/report_model.h"

namespace mgtune {

// One line per cause: "wrong: every variant with T=f32 and GELU=tanh (16): y[5, 17] is ...". With
// `at_most` causes, a last line says how many are left out. "" if nothing failed.
std::string causes_text(const ReportModel& model,
                        std::size_t at_most = static_cast<std::size_t>(-1));

// What `mgtune show failures` prints: the causes, and a table of the variants.
std::string failures_text(const ReportModel& model);

// The same with the whole messages, for example all of a compiler's output, instead of the table.
std::string failures_in_full(const ReportModel& model);

}  // namespace mgtune
