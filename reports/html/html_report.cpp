#include "html/html_report.h"

#include <fmt/format.h>

#include "html/markup.h"
#include "html/sections.h"
#include "html/stylesheet.h"
#include "model/report_json.h"
#include "model/verdict.h"

namespace mgtune {
namespace {

// Nothing is fetched and nothing runs; the style sheet is the only inline part.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

std::string head(const ReportModel& model) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"generator\" content=\"mgtune {}\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      kPolicy, escape(model.mgtune_version), escape(report_title(model)), stylesheet());
}

std::string header(const ReportModel& model) {
  return fmt::format(
      "<header>\n<h1>{}</h1>\n<p>Made {} by mgtune {}</p>\n<nav aria-label=\"Parts of this "
      "report\">\n"
      "<a href=\"#picks\">Picks</a> <a href=\"#variants\">All variants</a> "
      "<a href=\"#failures\">Failures</a> <a href=\"#environment\">Environment</a> "
      "<a href=\"#method\">How it was measured</a>\n</nav>\n</header>\n",
      escape(report_title(model)), moment(model.generated_at), escape(model.mgtune_version));
}

}  // namespace

Result<std::string> render_html(const ReportModel& model) {
  std::string html = head(model) + "<body>\n" + header(model) + "<main>\n";
  html += verdict_section(model);
  html += picks_section(model);
  html += variants_section(model);
  html += failures_section(model);
  html += environment_section(model);
  html += method_section(model);
  html += "</main>\n<script type=\"application/json\" id=\"mgtune-data\">";
  html += escape_json(report_json(model));
  html += "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace mgtune
