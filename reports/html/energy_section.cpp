#include <fmt/format.h>

#include <vector>

#include "analysis/pareto_front.h"
#include "html/markup.h"
#include "html/sections.h"
#include "text/units.h"

namespace mgtune {
namespace {

using HtmlAlign = HtmlTable::Align;

std::string energies_of(const FinalView& view) {
  HtmlTable table(
      fmt::format("{} {} on {}", code(view.op), code(view.problem), device_name(view.gpu)),
      {{"Variant"},
       {"Time", HtmlAlign::right},
       {"Energy", HtmlAlign::right},
       {"95 % error", HtmlAlign::right},
       {"Pareto front"}});
  const std::vector<bool> front = pareto_front(view.final);
  for (std::size_t i = 0; i < front.size(); ++i) {
    const FinalistRecord& finalist = view.final.finalists[i];
    table.add_row({code(finalist.variant), time_cell(view.gpu, finalist.median_ns),
                   energy_text(finalist.energy_j), energy_text(finalist.energy_error_j),
                   front[i] ? badge("ok", "front") : ""});
  }
  return table.html();
}

}  // namespace

std::string energy_section(const ReportModel& model) {
  std::string html;
  for (const ReportFinal& final : model.finals) {
    if (has_energy(final.view.final)) html += energies_of(final.view);
  }
  if (html.empty()) return "";
  return "<p>The energy of one launch, of the whole board, by NVML's counter, while the variant "
         "runs back to back. A variant is on the Pareto front if no other one needs both less "
         "time and less energy.</p>\n" +
         html;
}

}  // namespace mgtune
