// The views of `mgtune show` as plain text for a terminal. Each ends with a newline. A table with
// times of the cpu device says "emulation". A view without rows names the command that produces
// them. document/report_json.h has the same views as JSON. Pure.

#pragma once

#include <string>
#include <string_view>

#include "document/report_json.h"  // so that a caller who prints both forms includes one header
#include "model/report_model.h"

namespace mgtune {

// For a terminal with this many columns; 0: no terminal. If the lines of a table are wider than
// that, its variants are only what differs from the default.
std::string picks_table(const ReportModel& model, std::size_t columns = 0);  // `mgtune show best`
std::string variants_table(const ReportModel& model, std::size_t columns = 0);

std::string failures_table(const ReportModel& model);
std::string finals_table(const ReportModel& model);
std::string limits_table(const ReportModel& model);
std::string summary_table(const ReportModel& model);      // verdict, and what is missing
std::string importance_table(const ReportModel& model);   // which parameters matter
std::string progress_table(const ReportModel& model);     // how the sweeps converged
std::string sizes_table(const ReportModel& model);        // picks against problem size
std::string counters_table(const ReportModel& model);     // what the hardware counted
std::string environment_table(const ReportModel& model);  // machines, and commands to repeat

// The picks that have peers, which are other implementations, beside the fastest of these, and what
// differs in the measurements. "" if there are none; otherwise an empty line is at the end.
std::string peers_text(const ReportModel& model);

// "No picks yet. Fill this store with: mgtune sweep ...", and a newline.
std::string empty_text(std::string_view what);

// Why the model has no picks, and a newline: nothing was evaluated, or nothing passed, or a sweep
// ended before it picked one of the variants that passed.
std::string no_picks_text(const ReportModel& model);

// The lines that explain the word "emulation"; "" if no time of the model is one.
std::string emulation_note(const ReportModel& model);

}  // namespace mgtune
