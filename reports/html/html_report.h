// The report as one HTML file: no script, no network, a strict content security policy, readable
// from disk, on paper and in light and dark. All text of the store is escaped, and the data stands
// in it a second time as JSON (model/report_json.h) in <script type="application/json"
// id="mgtune-data">. Pure, thread-safe.

#pragma once

#include <string>

#include "core/status.h"
#include "model/report_model.h"

namespace mgtune {

Result<std::string> render_html(const ReportModel& model);

}  // namespace mgtune
