#include "model/missing_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr std::array<std::string_view, 13> kParts = {
    "picks", "roofline", "importance", "heat_map", "parallel",    "best_so_far", "finals",
    "sizes", "counters", "failures",   "pruning",  "environment", "baseline"};

bool any_order(const ReportAnalysis& analysis) {
  return std::ranges::any_of(analysis.best_so_far, &BestSoFar::order_known);
}

bool any_counters(const ReportModel& model) {
  return std::ranges::any_of(model.variants, [](const auto& row) { return !row.counters.empty(); });
}

// Whether some problem has a parameter with two values.
bool any_choice(const ReportAnalysis& analysis) {
  return std::ranges::any_of(analysis.spaces, [](const SpaceColumns& space) {
    return std::ranges::any_of(space.parameters,
                               [](const auto& column) { return column.values.size() > 1; });
  });
}

bool only_emulation(const ReportModel& model) {
  return !model.problems.empty() &&
         std::ranges::all_of(model.problems, [](const auto& p) { return p.gpu.emulation; });
}

std::string gpu_word(const ReportModel& model) {
  return model.problems.empty() ? "auto" : shell_word(model.problems.front().gpu.model);
}

// " --method graph" if all picks are by one method that is not the default, so that the new results
// can be compared with them.
std::string method_words(const ReportModel& model) {
  const std::string method = model.picks.empty() ? "" : model.picks.front().view.tuned.method;
  const bool settable = method == "cold" || method == "hot" || method == "graph";
  const bool same = std::ranges::all_of(
      model.picks, [&](const ReportPick& pick) { return pick.view.tuned.method == method; });
  return settable && same ? " --method " + method : "";
}

std::string kernel_word(const ReportModel& model) {
  return model.problems.empty() ? "rmsnorm" : shell_word(model.problems.front().op);
}

}  // namespace

std::span<const std::string_view> report_parts() { return kParts; }

std::string sweep_command(const ReportModel& model) {
  return fmt::format("mgtune sweep --kernel {} --gpu {}{}", kernel_word(model), gpu_word(model),
                     method_words(model));
}

std::vector<MissingPart> missing_parts(const ReportModel& model, const ReportAnalysis& analysis,
                                       bool with_baseline) {
  std::vector<MissingPart> missing;
  const std::string sweep = sweep_command(model);
  const auto add = [&](std::string_view part, std::string text, std::string command) {
    missing.push_back({std::string(part), std::move(text), std::move(command)});
  };
  const bool emulation = only_emulation(model);
  if (model.picks.empty()) add("picks", "No problem has a pick yet.", sweep);
  if (emulation) {
    add("roofline", "Emulation has no ceilings: the cpu device says nothing about a GPU.",
        fmt::format("mgtune sweep --kernel {} --gpu auto", kernel_word(model)));
  } else if (model.ceilings.empty()) {
    add("roofline", "No ceilings of this GPU were measured.",
        "mgtune calibrate --gpu " + gpu_word(model));
  }
  if (analysis.importance.empty()) {
    add("importance",
        fmt::format("No design has {} variants with a time on one problem, which is too few to say "
                    "which parameter matters.",
                    kFewestForImportance),
        sweep);
  }
  if (!any_choice(analysis)) {
    add("heat_map", "No parameter has two values yet.", sweep);
    add("parallel", "No parameter has two values yet.", sweep);
  }
  if (!any_order(analysis)) {
    add("best_so_far",
        "The order in which these results were found is not known: they are imported.", sweep);
    if (model.variants.empty()) missing.back().text = "No variant has been evaluated yet.";
  }
  if (model.finals.empty()) {
    add("finals", "No final was held: samples of the fastest variants, taken in turn.", sweep);
  }
  if (analysis.sizes.empty()) {
    add("sizes", "There are no two problems of one operator whose sizes could be compared.", sweep);
  }
  if (!any_counters(model)) {
    add("counters",
        emulation ? "The cpu device has no hardware counters." : "No hardware counters were read.",
        emulation
            ? fmt::format("mgtune sweep --kernel {} --gpu auto --counters", kernel_word(model))
            : sweep + " --counters");
  }
  if (model.failures.empty()) {
    const bool none = model.variants.empty();
    add("failures",
        none ? "No variant has been evaluated yet." : "Every variant that was evaluated passed.",
        none ? sweep : "");
  }
  if (model.spaces.empty()) {
    add("pruning", "No sweep of this version has counted what the constraints rule out.",
        fmt::format("mgtune sweep --kernel {} --gpu {} --dry-run", kernel_word(model),
                    gpu_word(model)));
  }
  if (model.sweeps.empty()) add("environment", "No sweep has been recorded yet.", sweep);
  if (!with_baseline) {
    add("baseline", "There is no other database to compare with.",
        "mgtune report --baseline OTHER.db");
  }
  return missing;
}

std::string missing_text(const ReportModel& model, const ReportAnalysis& analysis,
                         std::string_view part) {
  const std::vector<MissingPart> parts = missing_parts(model, analysis, false);
  const auto found = std::ranges::find(parts, part, &MissingPart::part);
  if (found == parts.end()) return "";
  const std::string command = found->command.empty() ? "" : " This fills it: " + found->command;
  return found->text + command + "\n";
}

}  // namespace mgtune
