// Where the results were measured, and how.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "html/markup.h"
#include "html/sections.h"
#include "text/explanations.h"
#include "text/units.h"

namespace mgtune {
namespace {

std::string fact(std::string_view name, const std::string& text) {
  return text.empty() ? "" : description(name, text);
}

std::string bytes_or_none(std::int64_t bytes) { return bytes > 0 ? bytes_text(bytes) : ""; }

// One device in one state of the software around it.
std::string machine(const GpuRecord& gpu, const EnvironmentRecord& environment) {
  std::string html = fmt::format("<div class=\"machine\">\n<h3>{}</h3>\n<dl>\n", device_name(gpu));
  html += fact("Architecture", gpu.arch);
  html += fact("SMs", gpu.sm_count > 0 && !gpu.emulation ? std::to_string(gpu.sm_count) : "");
  html += fact("L2", bytes_or_none(gpu.l2_bytes));
  html += fact("Memory", bytes_or_none(gpu.memory_bytes));
  html += fact("Shared memory per block", bytes_or_none(gpu.max_shared_bytes));
  html += fact("MIG profile", gpu.mig_profile);
  html += fact("Driver", environment.driver);
  html += fact("Compiler", environment.compiler);
  html += fact("System", environment.system);
  html += fact("mgtune", environment.mgtune_version);
  return html + "</dl>\n</div>\n";
}

std::string machines(const std::vector<SweepView>& sweeps) {
  std::vector<const SweepView*> distinct;
  for (const SweepView& view : sweeps) {
    const bool known = std::ranges::any_of(distinct, [&](const SweepView* other) {
      return is_same_gpu(other->gpu, view.gpu) && other->environment == view.environment;
    });
    if (!known) distinct.push_back(&view);
  }
  std::string html = "<div class=\"machines\">\n";
  for (const SweepView* view : distinct) html += machine(view->gpu, view->environment);
  return html + "</div>\n";
}

std::string sweeps_table(const std::vector<SweepView>& sweeps) {
  HtmlTable table(
      "Sweeps, newest first; a command run again repeats nothing that is still valid",
      {{"Started (UTC)"}, {"Finished (UTC)"}, {"Device"}, {"Strategy"}, {"Budget"}, {"Command"}});
  for (const SweepView& view : sweeps) {
    const SweepRecord& sweep = view.sweep;
    table.add_row({moment(sweep.started_at),
                   sweep.finished_at.empty() ? "not finished" : moment(sweep.finished_at),
                   device_name(view.gpu), escape(sweep.strategy), escape(sweep.budget),
                   code(sweep.command)});
  }
  return table.html();
}

// The text up to the first full stop names the step.
std::string paragraph(std::string_view step) {
  const std::size_t end = step.find('.') + 1;
  return fmt::format("<p><strong>{}</strong>{}</p>\n", escape(step.substr(0, end)),
                     escape(step.substr(end)));
}

}  // namespace

std::string environment_section(const ReportModel& model) {
  if (model.sweeps.empty()) return empty_part("No sweep has been recorded yet.");
  return machines(model.sweeps) + sweeps_table(model.sweeps);
}

std::string method_section(const ReportModel& model) {
  const std::vector<std::string> names = methods_used(model);
  if (names.empty()) return empty_part("Nothing has been timed yet.");
  std::string html;
  for (const std::string& step : measuring_steps()) html += paragraph(step);
  html += "<dl class=\"methods\">\n";
  for (const std::string& name : names) {
    const bool emulation = name == "emulation";
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n",
                        emulation ? badge("emulation", name) : code(name),
                        escape(method_description(name)));
  }
  return html + "</dl>\n";
}

}  // namespace mgtune
