#include <fmt/format.h>

#include <string_view>

#include "html/markup.h"
#include "html/sections.h"
#include "text/method_text.h"

namespace mgtune {
namespace {

// The text up to the first full stop names the step.
std::string paragraph(std::string_view step) {
  const std::size_t end = step.find('.') + 1;
  return fmt::format("<p><strong>{}</strong>{}</p>\n", escape(step.substr(0, end)),
                     escape(step.substr(end)));
}

}  // namespace

std::string method_section(const ReportModel& model) {
  static constexpr std::string_view kTitle = "How it was measured";
  const std::vector<std::string> names = methods_used(model);
  if (names.empty())
    return section("static-method", kTitle, empty_part("Nothing has been timed yet."));

  std::string html;
  for (const std::string& step : measuring_steps()) html += paragraph(step);
  html += "<dl class=\"methods\">\n";
  for (const std::string& name : names) {
    const bool emulation = name == "emulation";
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n",
                        emulation ? badge("emulation", name) : code(name),
                        escape(method_description(name)));
  }
  return section("static-method", kTitle, html + "</dl>\n");
}

}  // namespace mgtune
