#include "document/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/pareto_front.h"
#include "core/variant_words.h"
#include "model/missing_parts.h"
#include "model/next_step.h"
#include "model/pick_peers.h"
#include "model/pick_reasons.h"
#include "model/verdict.h"
#include "text/explanations.h"
#include "text/markdown_table.h"
#include "text/printable.h"
#include "text/tables.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::size_t kParameters = 3;  // of the design that won

std::string section(const std::string& title, const std::string& text) {
  return "\n## " + title + "\n\n" + text;
}

std::string interval(const ReportPick& pick) {
  if (!pick.low_ns || !pick.high_ns) return "";
  return time_text(*pick.low_ns) + " .. " + time_text(*pick.high_ns);
}

std::string picks_text(const ReportModel& model, const DocumentOptions& options) {
  std::vector<std::string> titles = {"device",   "operator", "problem", "time",   "95 % interval",
                                     "speed-up", "ceiling",  "ties",    "variant"};
  if (options.with_baseline) titles.insert(titles.begin() + 6, "over the baseline");
  MarkdownTable table(titles);
  for (std::size_t i = 0; i < model.picks.size(); ++i) {
    const ReportPick& pick = model.picks[i];
    const std::vector<CeilingShare> shares = ceiling_shares(pick);
    const std::size_t others = pick.tied.empty() ? 0 : pick.tied.size() - 1;
    std::vector<std::string> cells = {device_text(pick.view.gpu),
                                      pick.view.op,
                                      pick.view.problem,
                                      time_text(pick.view.tuned.median_ns),
                                      interval(pick),
                                      standing_text(pick),
                                      shares.empty() ? "" : share_text(shares.front()),
                                      others > 0 ? std::to_string(others) : "",
                                      pick.view.tuned.variant};
    if (options.with_baseline) {
      const bool known = i < options.baseline.size() && options.baseline[i].has_value();
      cells.insert(cells.begin() + 6,
                   known ? fmt::format("{} {}", ratio_text(options.baseline[i]->speedup),
                                       to_string(options.baseline[i]->verdict))
                         : "");
    }
    table.add(cells);
  }
  return table.text();
}

// Why each pick wins, and what to try next; "" if nothing is known.
std::string reasons_text(const ReportModel& model, const ReportAnalysis& analysis) {
  std::string text;
  for (const ReportPick& pick : model.picks) {
    std::vector<std::string> sentences = pick_reasons(model, analysis, pick);
    const NextStep next = next_step(model, analysis, pick);
    if (sentences.empty()) continue;
    if (next.command == NextStep::Command::none && !next.text.empty()) {
      sentences.push_back(next.text);
    }
    text += "- " +
            markdown_plain(fmt::format("{} {}: {}", pick.view.op, pick.view.problem,
                                       fmt::join(sentences, " "))) +
            "\n";
  }
  return text;
}

std::string importance_text(const ReportModel& model, const ReportAnalysis& analysis) {
  MarkdownTable table(
      {"problem", "design", "parameter", "changing it alone", "its average", "best value"});
  for (const ProblemImportance& entry : analysis.importance) {
    const ReportProblem& problem = model.problems[entry.problem];
    const SpaceColumns& space = analysis.spaces[entry.problem];
    const ReportPick* const pick = find_pick(model, entry.problem, entry.method);
    const std::string winner =
        pick != nullptr ? split_variant(pick->view.tuned.variant).design : "";
    for (const DesignImportance& design : entry.importance.designs) {
      if (!winner.empty() && space.designs[design.design].name != winner) continue;
      const std::size_t shown = std::min(kParameters, design.parameters.size());
      for (std::size_t i = 0; i < shown; ++i) {
        const ParameterImportance& parameter = design.parameters[i];
        const ParameterColumn& column = space.parameters[parameter.parameter];
        const auto best = std::ranges::min_element(parameter.effects, {}, &ValueEffect::ratio);
        table.add({problem.op + " " + problem.problem, space.designs[design.design].name,
                   column.name, parameter.total ? percent_text(*parameter.total) : "",
                   percent_text(parameter.main),
                   column.values[static_cast<std::size_t>(best->value)]});
      }
    }
  }
  return table.text() +
         "\nShares of the variation of the time, of the design that won. An average taken over "
         "values that were tried\ntogether with others can exceed what changing the parameter "
         "alone "
         "does.\n";
}

// "" if no energy was measured.
std::string energies_text(const ReportModel& model) {
  MarkdownTable table({"device", "operator", "problem", "time", "energy of a launch", "95 % error",
                       "Pareto front", "variant"});
  bool any = false;
  for (const ReportFinal& shown : model.finals) {
    const FinalView& view = shown.view;
    if (!has_energy(view.final)) continue;
    any = true;
    const std::vector<bool> front = pareto_front(view.final);
    for (std::size_t i = 0; i < front.size(); ++i) {
      const FinalistRecord& finalist = view.final.finalists[i];
      table.add({device_text(view.gpu), view.op, view.problem, time_text(finalist.median_ns),
                 energy_text(finalist.energy_j), energy_text(finalist.energy_error_j),
                 front[i] ? "yes" : "", finalist.variant});
    }
  }
  return any ? table.text() : "";
}

std::string markdown_failures(const ReportModel& model) {
  MarkdownTable table({"status", "variants", "message"});
  for (const ReportFailure& failure : model.failures) {
    table.add({std::string(to_string(failure.outcome)), std::to_string(failure.variants.size()),
               std::string(headline(failure.message))});
  }
  return table.text();
}

std::string environment_text(const ReportModel& model) {
  MarkdownTable table({"started", "device", "driver", "compiler", "system", "mgtune", "command"});
  for (const SweepView& view : model.sweeps) {
    table.add({view.sweep.started_at, device_text(view.gpu), view.environment.driver,
               view.environment.compiler, view.environment.system, view.environment.mgtune_version,
               view.sweep.command});
  }
  return table.text();
}

std::string method_text(const ReportModel& model) {
  std::string text;
  for (const std::string& step : measuring_steps()) text += step + "\n\n";
  for (const std::string& name : methods_used(model)) {
    text += fmt::format("- **{}**: {}\n", markdown_plain(name), method_description(name));
  }
  return text;
}

}  // namespace

std::string report_markdown(const ReportModel& model, const ReportAnalysis& analysis,
                            const DocumentOptions& options) {
  const auto missing = [&](std::string_view part) {
    return markdown_plain(missing_text(model, analysis, part)) + "\n";
  };
  std::string text = "# " + markdown_plain(report_title(model)) + "\n\n";
  for (const std::string& line : peer_lines(model)) text += "- " + markdown_plain(line) + "\n";
  for (const std::string& line : peer_differences(model))
    text += "- " + markdown_plain(line) + "\n";
  if (!peer_lines(model).empty()) text += "\n";
  for (const std::string& sentence : model.verdict) text += markdown_plain(sentence) + "\n";
  text += emulation_note(model);
  text += section("Picks", model.picks.empty() ? missing("picks") : picks_text(model, options));
  const std::string reasons = reasons_text(model, analysis);
  if (!reasons.empty()) text += section("Why these variants", reasons);
  text += section("What matters", analysis.importance.empty() ? missing("importance")
                                                              : importance_text(model, analysis));
  const std::string energies = energies_text(model);
  if (!energies.empty()) text += section("Energy of the finalists", energies);
  text +=
      section("Failures", model.failures.empty() ? missing("failures") : markdown_failures(model));
  text += section("Environment",
                  model.sweeps.empty() ? missing("environment") : environment_text(model));
  return text + section("How it was measured", method_text(model));
}

}  // namespace mgtune
