#include "cli/output/check_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/text.h"
#include "json/json.h"

namespace mgtune {
namespace {

std::string space_line(const SpaceSummary& space) {
  if (space.problem.empty()) return "";
  std::string text =
      fmt::format("  space: {}{} of {} points at {}", space.counted ? "" : "at least ",
                  space.admissible, space.points, space.problem);
  if (!space.unavailable.empty()) return text + "; " + space.unavailable + " excludes all\n";
  text += '\n';
  for (const PrunedByConstraint& constraint : space.pruned) {
    text += fmt::format("    `{}` removes {}\n", constraint.constraint, constraint.points);
  }
  return text;
}

std::string build_line(const CheckedBuild& build) {
  if (!build.ok) return fmt::format("  {}: {}: does not compile\n", build.target, build.variant);
  std::vector<std::string> facts;
  if (build.registers >= 0) facts.push_back(fmt::format("{} registers", build.registers));
  if (build.spill_bytes == 0) facts.emplace_back("no spills");
  if (build.spill_bytes > 0) facts.push_back(fmt::format("{} bytes spilled", build.spill_bytes));
  if (build.static_shared_bytes >= 0) {
    facts.push_back(fmt::format("{} bytes of static shared memory", build.static_shared_bytes));
  }
  return fmt::format("  {}: {}: {}\n", build.target, build.variant, fmt::join(facts, ", "));
}

std::string run_line(const CheckedRun& run) {
  return fmt::format("  {}: {}: {}: {}\n", run.device, run.variant, run.problem,
                     run.ok ? "right" : "FAILED");
}

// The text, with all lines but the first one indented.
std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "   ";
  }
  return result;
}

std::string finding_text(std::size_t number, const FamilyFinding& finding) {
  std::vector<std::string> where = {finding.op};
  if (!finding.design.empty()) where.push_back("design " + finding.design);
  if (!finding.problem.empty()) where.push_back(finding.problem);
  if (!finding.on.empty()) where.push_back("on " + finding.on);
  return fmt::format("{}. {}:\n   {}\n", number, fmt::join(where, ", "), indented(finding.text));
}

}  // namespace

std::string check_text(const FamilyReport& report, const std::string& kernel) {
  std::string text;
  for (const CheckedDesign& design : report.designs) {
    text += fmt::format("{}, design {}\n", design.op, design.design);
    text += space_line(design.space);
    for (const CheckedBuild& build : design.builds) text += build_line(build);
    for (const CheckedRun& run : design.runs) text += run_line(run);
  }
  for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    text += finding_text(i + 1, report.findings[i]);
  }
  const std::size_t count = report.findings.size();
  if (count > 0) return text + fmt::format("{} problem{} found\n", count, count == 1 ? "" : "s");
  return text +
         fmt::format("no problem found; next: mgtune sweep --kernel {}\n", shell_word(kernel));
}

std::string check_json(const FamilyReport& report) {
  const auto build_json = [](const CheckedBuild& build) -> Json {
    return {{"target", build.target},
            {"variant", build.variant},
            {"ok", build.ok},
            {"registers", build.registers},
            {"spill_bytes", build.spill_bytes},
            {"static_shared_bytes", build.static_shared_bytes}};
  };
  const auto run_json = [](const CheckedRun& run) -> Json {
    return {
        {"device", run.device}, {"problem", run.problem}, {"variant", run.variant}, {"ok", run.ok}};
  };
  const auto pruned_json = [](const PrunedByConstraint& constraint) -> Json {
    return {{"constraint", constraint.constraint},
            {"place", constraint.place},
            {"points", constraint.points}};
  };
  const auto design_json = [&](const CheckedDesign& design) -> Json {
    const SpaceSummary& space = design.space;
    return {{"operator", design.op},
            {"design", design.design},
            {"problem", space.problem},
            {"points", space.points},
            {"admissible", space.admissible},
            {"counted", space.counted},
            {"unavailable", space.unavailable},
            {"constraints", Json::array(space.pruned, pruned_json)},
            {"builds", Json::array(design.builds, build_json)},
            {"runs", Json::array(design.runs, run_json)}};
  };
  const auto finding_json = [](const FamilyFinding& finding) -> Json {
    return {{"operator", finding.op},
            {"design", finding.design},
            {"problem", finding.problem},
            {"on", finding.on},
            {"text", finding.text}};
  };
  return Json({{"format", 1},
               {"operators", report.operators},
               {"designs", Json::array(report.designs, design_json)},
               {"findings", Json::array(report.findings, finding_json)},
               {"warnings", report.warnings},
               {"notes", report.notes}})
      .document_text();
}

}  // namespace mgtune
