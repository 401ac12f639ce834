// In which order, and how soon, a problem's variants were evaluated: what a curve of the best so
// far is drawn over.

#pragma once

#include <vector>

#include "model/report_model.h"
#include "store/records.h"

namespace mgtune {

// Fills order and seconds of the model's variants. The seconds of a variant are what passed since
// the row that its sweep recorded before (or since the sweep began), added up over its problem: a
// sweep that goes back and forth between problems, and one that was taken up again, count the time
// that each problem took. Imports have no order, rows of older stores no seconds.
void add_evaluation_order(const std::vector<SweepView>& sweeps, ReportModel& model);

// "2026-11-21T09:00:00.123Z", with or without the fraction; nullopt for anything else.
std::optional<double> seconds_of_utc(const std::string& text);

}  // namespace mgtune
