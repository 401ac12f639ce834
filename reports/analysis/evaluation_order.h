// The order and the times in which a problem's variants were evaluated: the horizontal axis of a
// best-so-far curve.

#pragma once

#include <vector>

#include "model/report_model.h"
#include "store/records.h"

namespace mgtune {

// Fills in order and seconds of the model's variants. The seconds of a variant are the time since
// its sweep recorded its previous row (or since the sweep began), added up over its problem. So the
// time of each problem is right, even if a sweep switches between problems or was continued later.
// Imports have no order, and rows of older stores no seconds.
void add_evaluation_order(const std::vector<SweepView>& sweeps, ReportModel& model);

// "2026-11-21T09:00:00.123Z", with or without the fraction; nullopt for anything else.
std::optional<double> seconds_of_utc(const std::string& text);

}  // namespace mgtune
