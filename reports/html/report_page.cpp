#include "html/report_page.h"

#include <fmt/format.h>

#include <array>

#include "html/markup.h"
#include "html/sections.h"
#include "model/verdict.h"

extern "C" const char mgtune_report_page[], mgtune_report_page_end[];

namespace mgtune {
namespace {

// A place in the template, and the text that a report has there.
struct Place {
  std::string_view marker;
  std::string text;
};

struct Section {
  std::string_view id, title;
  std::string (*content)(const ReportModel&);
};

constexpr Section kSections[] = {
    {"static-verdict", "Verdict", verdict_section},
    {"static-picks", "Picks against the default", picks_section},
    {"static-variants", "Variants", variants_section},
    {"static-energy", "Energy of the finalists", energy_section},
    {"static-failures", "Failures", failures_section},
    {"static-environment", "Environment", environment_section},
    {"static-method", "How it was measured", method_section},
};

std::string static_tables(const ReportModel& model) {
  std::string html = "<main id=\"static\">\n<h1>" + escape(report_title(model)) + "</h1>\n";
  for (const Section& section : kSections) {
    const std::string content = section.content(model);
    if (content.empty()) continue;
    html += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", section.id,
                        section.title, content);
  }
  return html + "</main>";
}

std::string data_element(std::string_view document) {
  return fmt::format("<script type=\"application/json\" id=\"report-data\">{}</script>",
                     escape_json(document));
}

}  // namespace

std::string_view page_template() {
  return {mgtune_report_page,
          static_cast<std::size_t>(mgtune_report_page_end - mgtune_report_page)};
}

Result<std::string> render_page(const ReportModel& model, std::string_view document,
                                std::string_view page) {
  const std::array<Place, 3> places = {{
      {"<title>mgtune report</title>", "<title>" + escape(report_title(model)) + "</title>"},
      {"<main id=\"static\"></main>", static_tables(model)},
      {"<script type=\"application/json\" id=\"report-data\"></script>", data_element(document)},
  }};
  std::string html;
  html.reserve(page.size() + document.size() + document.size() / 8);
  // In their order in the template, so that inserted text is never searched.
  for (std::size_t filled = 0; filled < places.size(); ++filled) {
    const Place* next = nullptr;
    std::size_t at = std::string_view::npos;
    for (const Place& place : places) {
      const std::size_t found = page.find(place.marker);
      if (found >= at) continue;
      at = found;
      next = &place;
    }
    if (next == nullptr) return internal_error("the template of the report lacks a place for data");
    html.append(page.substr(0, at)).append(next->text);
    page.remove_prefix(at + next->marker.size());
  }
  return html.append(page);
}

}  // namespace mgtune
