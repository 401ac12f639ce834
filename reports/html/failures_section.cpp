#include <fmt/format.h>

#include "html/markup.h"
#include "html/sections.h"
#include "text/explanations.h"
#include "text/units.h"

namespace mgtune {
namespace {

std::string place(const OutcomeView& view) {
  return fmt::format("{}<br>{} {} on {}", code(view.variant), code(view.op), code(view.problem),
                     device_name(view.gpu));
}

// Compilers repeat themselves, so variants that failed with the same message share one row.
std::string places(const ReportModel& model, const ReportFailure& failure) {
  if (failure.variants.size() == 1) return place(model.variants[failure.variants.front()].view);
  std::string html = fmt::format("<details><summary>{}</summary>\n<ul>\n",
                                 counted(failure.variants.size(), "variant"));
  for (const std::size_t index : failure.variants) {
    html += fmt::format("<li>{}</li>\n", place(model.variants[index].view));
  }
  return html + "</ul></details>";
}

std::string message_cell(const std::string& message) {
  if (message.empty()) return "no message";
  return fmt::format("<pre tabindex=\"0\">{}</pre>", escape(message));
}

std::string part(const ReportModel& model, const OutcomeCount& count) {
  HtmlTable table(fmt::format("{} {}: {}", badge("bad", to_string(count.outcome)),
                              counted(count.count, "variant"), explanation(count.outcome)),
                  {{"Variant and problem"}, {"Message"}});
  for (const ReportFailure& failure : model.failures) {
    if (failure.outcome != count.outcome) continue;
    table.add_row({places(model, failure), message_cell(failure.message)});
  }
  return table.html();
}

}  // namespace

std::string failures_section(const ReportModel& model) {
  if (model.variants.empty()) return empty_part("No variant has been evaluated yet.");
  if (model.failures.empty()) return "<p>Every variant that was evaluated passed.</p>\n";
  std::string html =
      "<p>Each of these is kept with its message and never dispatched. The same list in a "
      "terminal: "
      "<code>mgtune show failures</code></p>\n";
  for (const OutcomeCount& count : model.counts) {
    if (is_failure(count.outcome)) html += part(model, count);
  }
  return html;
}

}  // namespace mgtune
