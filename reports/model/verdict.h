// The title and the sentences that open a report: who won, by how much, what failed. Pure.

#pragma once

#include <string>
#include <vector>

#include "model/report_model.h"

namespace mgtune {

// From the model's picks, variants and counts. Times of the cpu device are never called fast, and a
// store without results says which command fills it.
std::vector<std::string> verdict_sentences(const ReportModel& model);

// "mgtune report: rmsnorm.forward on NVIDIA H200": browser tabs and bookmarks tell reports apart.
std::string report_title(const ReportModel& model);

}  // namespace mgtune
