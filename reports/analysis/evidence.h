// Adds the results of finals, counters and ceilings to the picks and variants of a report: ties,
// the noise, and what limits a kernel.

#pragma once

#include "model/report_model.h"

namespace mgtune {

// `model` already has its picks and variants. rows.tuned and rows.outcomes are not used.
void add_evidence(const StoredRows& rows, ReportModel& model);

}  // namespace mgtune
