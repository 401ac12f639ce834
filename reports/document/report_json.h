// The rows of `mgtune show VIEW --json`. Each row is an object that can be read without the others,
// and each text ends with a newline. reports/README.md describes the keys. While "format" is 1, a
// new version may add keys, but it does not change the meaning of a key. Text is valid UTF-8. A
// number that is not finite becomes null. Pure.

#pragma once

#include <string>

#include "json/json.h"
#include "model/report_model.h"

namespace mgtune {

std::string picks_json(const ReportModel& model);  // `mgtune show best`
std::string variants_json(const ReportModel& model);
std::string failures_json(const ReportModel& model);
std::string finals_json(const ReportModel& model);
std::string limits_json(const ReportModel& model);
std::string summary_json(const ReportModel& model);
std::string importance_json(const ReportModel& model);
std::string progress_json(const ReportModel& model);
std::string sizes_json(const ReportModel& model);
std::string counters_json(const ReportModel& model);
std::string environment_json(const ReportModel& model);

Json picks_rows(const ReportModel& model);   // the rows of picks_json(), for use in other JSON
Json causes_rows(const ReportModel& model);  // the causes of failures_json(), likewise

}  // namespace mgtune
