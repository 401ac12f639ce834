// Adds what finals, counters and ceilings say to a report's picks and variants: ties, the noise,
// what limits a kernel.

#pragma once

#include "model/report_model.h"

namespace mgtune {

// `model` already has its picks and variants. rows.tuned and rows.outcomes are not used.
void add_evidence(const StoredRows& rows, ReportModel& model);

}  // namespace mgtune
