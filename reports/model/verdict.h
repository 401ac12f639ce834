// The title and the first sentences of a report: which variant won, by how much, what failed. Pure.

#pragma once

#include <string>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

// Made from the model's picks, variants and counts. Times of the cpu device are never called fast.
// For a store without results the sentence names the command that produces them.
std::vector<std::string> verdict_sentences(const ReportModel& model);

// "mgtune report: rmsnorm.forward on NVIDIA H200". It names the operator and the device, so that
// the browser tabs and bookmarks of two reports differ.
std::string report_title(const ReportModel& model);

}  // namespace mgtune
