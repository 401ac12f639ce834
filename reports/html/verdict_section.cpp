#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "html/markup.h"
#include "html/sections.h"
#include "model/pick_peers.h"
#include "text/units.h"

namespace mgtune {
namespace {

std::int64_t failed_variants(const ReportModel& model) {
  std::int64_t failed = 0;
  for (const OutcomeCount& count : model.counts)
    failed += is_failure(count.outcome) ? count.count : 0;
  return failed;
}

// Emulation has none: its times are never called fast.
std::optional<double> best_speedup(const ReportModel& model) {
  std::optional<double> best;
  for (const ReportPick& pick : model.picks) {
    if (pick.standing == PickStanding::faster && !pick.view.gpu.emulation) {
      best = std::max(best, pick.speedup);
    }
  }
  return best;
}

std::string figures(const ReportModel& model) {
  std::string html = "<dl class=\"figures\">\n";
  html += description("Picks", std::to_string(model.picks.size()));
  html += description("Variants evaluated", std::to_string(model.variants.size()));
  html += description("Variants failed", std::to_string(failed_variants(model)));
  if (const auto best = best_speedup(model))
    html += description("Best speed-up", ratio_text(*best));
  return html + "</dl>\n";
}

}  // namespace

std::string verdict_section(const ReportModel& model) {
  std::string html;
  std::vector<std::string> sentences = peer_lines(model);
  std::ranges::move(peer_differences(model), std::back_inserter(sentences));
  sentences.insert(sentences.end(), model.verdict.begin(), model.verdict.end());
  for (const std::string& sentence : sentences) {
    html += fmt::format("<p class=\"verdict\">{}</p>\n", escape(sentence));
  }
  if (model.emulation) {
    html += fmt::format("<p class=\"notice\" role=\"note\">{} {}</p>\n",
                        badge("emulation", "emulation"), escape(kEmulationNote));
  }
  const bool has_results = !model.picks.empty() || !model.variants.empty();
  return html + (has_results ? figures(model) : "");
}

}  // namespace mgtune
