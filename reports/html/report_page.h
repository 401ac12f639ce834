// The report as one HTML file that opens from disk: the page of reports/web with the data of a
// report, and the same results as static tables for readers without JavaScript. All text of the
// store is escaped. The page shows it as text only and fetches nothing. Pure, thread-safe.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "model/report_model.h"

namespace mgtune {

// The page as the build embedded it, without data.
std::string_view page_template();

// `document` is report_document() of the model. With "" the page waits for a document. internal if
// the template does not have a place for a part.
Result<std::string> render_page(const ReportModel& model, std::string_view document,
                                std::string_view page = page_template());

}  // namespace mgtune
