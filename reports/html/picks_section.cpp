#include <fmt/format.h>

#include <span>

#include "html/markup.h"
#include "html/sections.h"
#include "text/units.h"

namespace mgtune {
namespace {

using HtmlAlign = HtmlTable::Align;

std::string time_or_none(const GpuRecord& gpu, double time_ns) {
  return time_ns > 0 ? time_cell(gpu, time_ns) : "none";
}

std::string standing_cell(const ReportPick& pick) {
  const std::string text = standing_text(pick);
  if (text.empty()) return "none";
  if (pick.standing != PickStanding::faster) return badge("tie", text);
  return pick.view.gpu.emulation ? text : fmt::format("<strong class=\"gain\">{}</strong>", text);
}

bool default_stays(const TunedRecord& tuned) { return tuned.variant == tuned.default_variant; }

std::string pick_cell(const ReportPick& pick) {
  const TunedRecord& tuned = pick.view.tuned;
  return fmt::format("{}{}{}", code(tuned.variant),
                     default_stays(tuned) ? " " + badge("role", "default") : "",
                     pick.imported ? " " + badge("role", "import") : "");
}

std::string default_cell(const TunedRecord& tuned) {
  return default_stays(tuned) || tuned.default_variant.empty() ? "" : code(tuned.default_variant);
}

// "2 others, 0.3 %": the variants that are not significantly slower than the fastest in the final,
// and its noise.
std::string tied_cell(const ReportPick& pick) {
  if (!pick.noise_floor) return "";
  const std::size_t others = pick.tied.empty() ? 0 : pick.tied.size() - 1;
  return fmt::format("{}, {}", others == 0 ? "none" : fmt::format("{} with the fastest", others),
                     percent_text(*pick.noise_floor));
}

void add_pick(HtmlTable& table, const ReportModel& model, const ReportPick& pick) {
  const std::vector<CeilingShare> shares = ceiling_shares(pick);
  const TunedRecord& tuned = pick.view.tuned;
  const GpuRecord& gpu = pick.view.gpu;
  table.add_row({code(pick.view.problem), pick_cell(pick), time_or_none(gpu, tuned.median_ns),
                 time_or_none(gpu, tuned.default_median_ns), standing_cell(pick),
                 pick.bandwidth_gbps ? bandwidth_text(*pick.bandwidth_gbps) : "",
                 shares.empty() ? "" : escape(share_text(shares.front())), escape(tuned.method),
                 std::to_string(model.problems[pick.problem].count),
                 pick.variants_failed > 0 ? std::to_string(pick.variants_failed) : "",
                 default_cell(tuned), tied_cell(pick), escape(pick.roofline.limit)});
}

std::string table_of(const ReportModel& model, std::span<const ReportPick> picks) {
  const ReportPick& first = picks.front();
  HtmlTable table(fmt::format("{} on {}", code(first.view.op), device_name(first.view.gpu)),
                  {{"Problem"},
                   {"Pick"},
                   {"Time", HtmlAlign::right},
                   {"Default time", HtmlAlign::right},
                   {"Speed-up", HtmlAlign::right},
                   {"GB/s", HtmlAlign::right},
                   {"Reached", HtmlAlign::right},
                   {"Method"},
                   {"Variants", HtmlAlign::right},
                   {"Failed", HtmlAlign::right},
                   {"Default"},
                   {"Tied, noise"},
                   {"What limits the pick"}});
  for (const ReportPick& pick : picks) add_pick(table, model, pick);
  return table.html();
}

}  // namespace

std::string picks_section(const ReportModel& model) {
  if (model.picks.empty()) return empty_part("No problem has a pick yet.");
  std::string html =
      "<p>The variant that serves each problem, beside the default that would serve it untuned. "
      "Times are medians; <em>speed-up</em> is the default's time divided by the time of the pick; "
      "<em>variants</em> counts those of the problem that were evaluated. "
      "<em>Tie</em>: nothing beat the default beyond noise, so the default "
      "stays; "
      "<em>default</em>: nothing was faster. GB/s are the bytes that the problem must move over "
      "the "
      "time; <em>reached</em> compares with the fastest copy of as many bytes or with the peak of "
      "the arithmetic, whichever is nearer, measured on the same GPU by the same method. "
      "<em>Tied</em> counts the variants that the final did not "
      "tell apart from the fastest; the noise is how far two entries of one variant "
      "differed.</p>\n";
  for (const auto picks : picks_by_operator(model)) html += table_of(model, picks);
  return html;
}

}  // namespace mgtune
