#include "cli/output/sweep_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <utility>

#include "cli/output/sweep_times_output.h"
#include "core/text.h"
#include "json/json.h"
#include "model/report_model.h"
#include "search/search.h"
#include "selection/evidence.h"
#include "space/space.h"
#include "sweep/warm_start.h"
#include "text/failures.h"
#include "text/tables.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

// If a problem moves more bytes than this, a sweep on the cpu device is slow: an element takes some
// nanoseconds, and a variant is launched several times.
constexpr std::int64_t kLargeForEmulation = 16 << 20;

// "5184 admissible variants", "at least 5184 admissible variants".
std::string variants_text(const SweepPlan& plan) {
  std::uint64_t sum = 0;
  bool counted_all = true;
  for (const PlannedProblem& problem : plan.problems) {
    sum += problem.admissible;
    counted_all = counted_all && problem.counted;
  }
  return (counted_all ? "" : "at least ") +
         counted(static_cast<std::int64_t>(sum), "admissible variant");
}

std::string operators_text(const SweepPlan& plan) {
  std::set<std::string> names;
  for (const PlannedProblem& planned : plan.problems) names.insert(planned.problem.op->full_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string budget_text(const Budget& budget) {
  if (budget.evaluations.has_value()) {
    return fmt::format("at most {} per problem", counted(*budget.evaluations, "variant"));
  }
  return "ends after " + duration_text(budget.seconds.value_or(0));
}

// Says which part of the sweep the shard has, and what merging all shards may change.
std::string shard_text(const SweepPlan& plan) {
  const auto cut = std::ranges::count_if(
      plan.problems, [](const PlannedProblem& problem) { return problem.part.has_value(); });
  std::string text = fmt::format(
      "shard {}: {} of {}{}, {:.3g} % of the estimated time; 'mgtune merge' joins the files of all "
      "shards\n",
      plan.shard->text(), plan.problems.size(), counted(plan.all_problems, "problem"),
      cut == 0 ? "" : fmt::format(" ({} of them in part)", cut), 100 * plan.shard_share);
  if (cut == 0) return text;
  return text +
         "The pick of a problem that several shards have is the fastest of one part, without a "
         "final: the merge and 'mgtune sweep --finals' decide it\n";
}

std::string target_text(const std::optional<double>& target) {
  if (!target.has_value()) return "";
  return ", or a problem earlier when a further gain of " + gain_text(*target) + " is unlikely";
}

std::string work_text(const SweepPlan& plan) {
  if (plan.options.finals) return "finals among the results that the database has";
  return fmt::format("{}; {} order, {}", variants_text(plan), plan.options.strategy,
                     budget_text(plan.options.budget) + target_text(plan.options.target));
}

std::string pruned_text(const DesignStatistics& design) {
  if (!design.unavailable.empty()) return design.unavailable;
  std::string text;
  for (const auto& [reason, points] : design.pruned) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", reason, points);
  }
  return text;
}

// "5184", or ">= 5184" if there are too many to count.
std::string admissible_text(const DesignStatistics& design) {
  return (design.counted ? "" : ">= ") + std::to_string(design.admissible);
}

Json design_json(const DesignStatistics& design) {
  Json pruned = Json::object();
  for (const auto& [reason, points] : design.pruned) pruned[reason] = points;
  return {{"design", design.design},           {"points", design.points},
          {"admissible", design.admissible},   {"counted", design.counted},
          {"unavailable", design.unavailable}, {"pruned", pruned}};
}

Json plan_json(const SweepPlan& plan) {
  Json devices = Json::array();
  for (const DeviceInfo& device : plan.devices) devices.push_back(device.id);
  return {{"device", plan.device().id},
          {"devices", devices},
          {"name", plan.device().name},
          {"emulation", plan.emulation()},
          {"strategy", plan.options.strategy},
          {"budget", plan.options.budget.text},
          {"shard", plan.shard.has_value() ? plan.shard->text() : ""},
          {"shard_share", plan.shard_share},
          {"finals", plan.options.finals}};
}

// The rows of the store that belong to the sweep's problems, also to those without a pick.
Result<ReportModel> model_of(const FinishedSweep& sweep, Store& store) {
  MGTUNE_ASSIGN(StoredRows rows, read_stored_rows(store));
  rows.tuned = sweep.summary.picks;
  rows.sweeps.clear();
  std::set<std::pair<std::string, std::string>> problems;
  for (const PlannedProblem& planned : sweep.plan->problems) {
    problems.emplace(planned.problem.op->full_name(), planned.problem.text());
  }
  const std::string gpu = sweep.plan->device().name;
  std::erase_if(rows.outcomes, [&](const OutcomeView& row) {
    return row.gpu.model != gpu || !problems.contains({row.op, row.problem});
  });
  return make_report_model(std::move(rows));
}

std::string outcomes_text(const SweepSummary& summary) {
  std::string text;
  for (const auto& [outcome, count] : summary.outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(outcome));
  }
  return text;
}

// "rmsnorm.forward rows=64 T=bf16: stopped after 130 of 4312: a further 2 % is unlikely".
std::string settled_text(const FinishedSweep& sweep) {
  std::string text;
  for (const SettledProblem& settled : sweep.summary.settled) {
    text +=
        fmt::format("{}: stopped after {}{} variants, because a further gain of {} is unlikely\n",
                    settled.problem, settled.done,
                    settled.total > 0 ? fmt::format(" of {}", settled.total) : "",
                    gain_text(sweep.plan->options.target.value_or(1)));
  }
  return text;
}

// "the time budget of 60 s ended; 2009 of 3075 variants were tried; the same command ...".
std::string stop_text(const FinishedSweep& sweep) {
  const double seconds = sweep.plan->options.budget.seconds.value_or(0);
  return fmt::format("{}; {} of {} were tried; the same command goes on from here\n",
                     sweep.summary.ended_by_budget
                         ? "the time budget of " + duration_text(seconds) + " ended"
                         : "the sweep was interrupted",
                     sweep.summary.evaluated + sweep.summary.reused, variants_text(*sweep.plan));
}

// "of 96 problems, 40 were searched, 50 have their default alone, 6 were not begun".
std::string budget_use_text(const SweepSummary& summary) {
  if (!summary.budget_use.has_value()) return "";
  const BudgetUse& use = *summary.budget_use;
  std::string parts;
  const auto add = [&](std::int64_t count, const std::string& what) {
    if (count > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, what);
  };
  add(use.complete, "complete");
  add(use.searched, "searched in part");
  add(use.defaults, "with the default alone");
  add(use.not_begun, "not begun");
  std::string text =
      fmt::format("{}: {}; the fastest variants are {:.3g} % faster than the defaults\n",
                  counted(summary.problems, "problem"), parts, 100 * (use.gained - 1));
  if (use.most_expected.empty()) return text;
  text += fmt::format("more time is likely to bring another {:.3g} %, most at",
                      100 * (use.expected - 1));
  for (const BudgetUse::Expected& problem : use.most_expected) {
    text += fmt::format("{} {} ({:.3g} %)", &problem == &use.most_expected.front() ? "" : ",",
                        problem.problem, 100 * (problem.factor - 1));
  }
  return text + "\n";
}

Json budget_use_json(const BudgetUse& use) {
  Json most = Json::array();
  for (const BudgetUse::Expected& problem : use.most_expected) {
    most.push_back({{"problem", problem.problem}, {"factor", problem.factor}});
  }
  return {{"complete", use.complete},        {"searched", use.searched}, {"defaults", use.defaults},
          {"not_begun", use.not_begun},      {"gained", use.gained},     {"expected", use.expected},
          {"most_expected", std::move(most)}};
}

constexpr std::size_t kCausesShown = 3;

// The most frequent causes of the failures at the sweep's problems. "" if the store cannot be read:
// the command that is printed above shows the causes, or says why it cannot.
std::string causes_of(const FinishedSweep& sweep, Store& store) {
  const Result<ReportModel> model = model_of(sweep, store);
  return model.ok() ? causes_text(*model, kCausesShown) : "";
}

Json settled_json(const SweepSummary& summary) {
  Json all = Json::array();
  for (const SettledProblem& settled : summary.settled) {
    all.push_back(
        {{"problem", settled.problem}, {"evaluations", settled.done}, {"variants", settled.total}});
  }
  return all;
}

// The problems without a pick: the sweep ended before their turn, no variant serves them, or all
// variants failed.
Json unmeasured_json(const FinishedSweep& sweep) {
  std::set<std::pair<std::string, std::string>> picked;
  for (const TunedView& pick : sweep.summary.picks) picked.emplace(pick.op, pick.problem);
  Json all = Json::array();
  for (const PlannedProblem& planned : sweep.plan->problems) {
    const std::string name = planned.problem.op->full_name();
    const std::string problem = planned.problem.text();
    if (picked.contains({name, problem})) continue;
    all.push_back({{"operator", name}, {"problem", problem}});
  }
  return all;
}

}  // namespace

std::string device_text(const SweepPlan& plan) {
  const std::size_t count = plan.devices.size();
  return (count > 1 ? std::to_string(count) + " x " : "") + plan.device().name;
}

std::string announcement(const SweepPlan& plan) {
  std::string text = fmt::format("{} on {}: {}, {}\n", operators_text(plan), device_text(plan),
                                 counted(std::ssize(plan.problems), "problem"), work_text(plan));
  if (plan.options.method.name == "rotating_events") {
    text += "CUDA events time the kernels, which includes gaps between launches: " +
            plan.options.method.reason + "\n";
  }
  if (plan.shard.has_value()) {
    text += shard_text(plan);
  }
  if (!plan.emulation()) return text;
  text += "cpu emulation: times test the pipeline; they say nothing about a GPU\n";
  if (plan.largest_bytes > kLargeForEmulation) {
    text += fmt::format(
        "The largest problem moves {}: emulating one variant of it takes minutes. Ctrl-C keeps the "
        "results so far; --problem chooses a smaller problem.\n",
        bytes_text(plan.largest_bytes));
  }
  return text;
}

Result<std::string> warm_start_text(const SweepPlan& plan, Store& store) {
  if (plan.options.finals || !starts_warm(plan.options.strategy) || plan.problems.empty())
    return std::string();
  const PlannedProblem& first = plan.problems.front();
  MGTUNE_ASSIGN(const WarmSource source,
                find_warm_start(store, first.problem, plan.device(), first.visited(),
                                plan.options.method.name));
  const bool several = plan.problems.size() > 1;
  if (!source.variants.empty()) {
    return fmt::format(
        "starts from the fastest variants of {}{}\n", source.origin,
        several ? "; each further problem from the nearest that is known by then" : "");
  }
  return std::string(several ? "each problem after the first starts from the fastest variants of "
                               "the nearest that is known by then\n"
                             : "");
}

std::string dry_run_table(const std::vector<SweepPlan>& plans) {
  using Align = TextTable::Align;
  TextTable table({{"device"},
                   {"problem"},
                   {"design"},
                   {"points", Align::right},
                   {"admissible", Align::right},
                   {"pruned by"}});
  for (const SweepPlan& plan : plans) {
    for (const PlannedProblem& planned : plan.problems) {
      const std::string problem = planned.problem.op->full_name() + " " + planned.problem.text();
      for (const DesignStatistics& design : planned.designs) {
        table.add_row({plan.device().name, problem, design.design, std::to_string(design.points),
                       admissible_text(design), pruned_text(design)});
      }
    }
  }
  return table.text();
}

std::string dry_run_json(const std::vector<SweepPlan>& plans) {
  Json all = Json::array();
  for (const SweepPlan& plan : plans) {
    Json json = plan_json(plan);
    json["problems"] = Json::array();
    for (const PlannedProblem& planned : plan.problems) {
      Json designs = Json::array();
      for (const DesignStatistics& design : planned.designs) designs.push_back(design_json(design));
      json["problems"].push_back({{"operator", planned.problem.op->full_name()},
                                  {"problem", planned.problem.text()},
                                  {"admissible", planned.admissible},
                                  {"counted", planned.counted},
                                  {"designs", designs}});
    }
    all.push_back(std::move(json));
  }
  return Json({{"format", 1}, {"dry_run", all}}).document_text();
}

Result<std::string> picks_of(const FinishedSweep& sweep, Store& store, std::size_t columns) {
  MGTUNE_ASSIGN(const ReportModel model, model_of(sweep, store));
  return picks_table(model, columns);
}

Result<std::string> sweep_json(const std::vector<FinishedSweep>& sweeps, Store& store,
                               bool with_times) {
  Json all = Json::array();
  for (const FinishedSweep& sweep : sweeps) {
    const SweepSummary& summary = sweep.summary;
    Json json = plan_json(*sweep.plan);
    json["database"] = store.path();
    json["problems"] = summary.problems;
    json["evaluated"] = summary.evaluated;
    json["reused"] = summary.reused;
    json["compiled"] = summary.compiled;
    json["same_code"] = summary.same_code;
    json["failed"] = failed_variants(summary);
    json["unserved"] = summary.unserved;
    json["stopped_early"] = summary.stopped_early;
    json["ended_by_budget"] = summary.ended_by_budget;
    json["settled"] = settled_json(summary);
    if (summary.budget_use) json["budget_use"] = budget_use_json(*summary.budget_use);
    json["seconds"] = sweep.seconds;
    json["outcomes"] = Json::object();
    for (const auto& [outcome, count] : summary.outcomes) {
      json["outcomes"][to_string(outcome)] = count;
    }
    json["skipped"] = summary.skipped;
    MGTUNE_ASSIGN(const ReportModel model, model_of(sweep, store));
    json["picks"] = picks_rows(model);
    json["unmeasured"] = unmeasured_json(sweep);
    json["causes"] = causes_rows(model);
    if (with_times) json["times"] = sweep_times_json(summary.times);
    all.push_back(std::move(json));
  }
  return Json({{"format", 1}, {"sweeps", all}}).document_text();
}

namespace {

// Says for how many problems programs do not run the pick, because mgengine tune chose another
// variant. If the store cannot be read, the text is empty; the next code that reads the store
// reports the failure.
std::string token_picks_text(const SweepSummary& summary, Store& store) {
  std::int64_t others = 0;
  for (const TunedView& pick : summary.picks) {
    const Result<std::optional<TunedView>> token =
        store.find_tuned(pick.tuned.gpu, pick.tuned.problem, std::string(kTokenMethod));
    others += token.ok() && token->has_value() && (*token)->tuned.variant != pick.tuned.variant;
  }
  if (others == 0) return "";
  return fmt::format(
      "programs run other picks for {}, which whole tokens of a model decided (method token); "
      "'mgengine tune' decides again\n",
      counted(others, "problem"));
}

}  // namespace

std::string summary_text(const FinishedSweep& sweep, const std::string& show_failures,
                         Store& store) {
  const SweepSummary& summary = sweep.summary;
  const std::string problems = counted(summary.problems, "problem");
  std::string text;
  for (const std::string& skipped : summary.skipped) text += "skipped " + skipped + "\n";
  if (sweep.plan->options.finals) {
    text += fmt::format("picked among {} of {} in {}\n", counted(summary.reused, "variant"),
                        problems, duration_text(sweep.seconds));
  } else if (summary.evaluated == 0 && summary.compiled == 0 && !summary.stopped_early &&
             !summary.ended_by_budget) {
    text += fmt::format("nothing to do: all {} of {} are known; compiled 0, measured 0\n",
                        counted(summary.reused, "variant"), problems);
  } else {
    text += fmt::format("evaluated {} of {} in {}; compiled {}, reused {}\n",
                        counted(summary.evaluated, "variant"), problems,
                        duration_text(sweep.seconds), summary.compiled, summary.reused);
  }
  if (summary.same_code > 0) {
    text += fmt::format("{} took over the result of another one with the same machine code\n",
                        counted(summary.same_code, "variant"));
  }
  if (!summary.outcomes.empty()) text += "all variants: " + outcomes_text(summary) + "\n";
  if (const std::int64_t failed = failed_variants(summary); failed > 0) {
    text += fmt::format("{} failed: {}\n", counted(failed, "variant"), show_failures);
    text += causes_of(sweep, store);
  }
  text += settled_text(sweep);
  if (summary.ended_by_budget) text += budget_use_text(summary);
  if (summary.stopped_early || summary.ended_by_budget) text += stop_text(sweep);
  text += token_picks_text(summary, store);
  return text + "results in " + store.path() + "\n";
}

std::string next_step_text(const std::vector<FinishedSweep>& sweeps, const std::string& kernel) {
  for (const FinishedSweep& sweep : sweeps) {
    if (!sweep.summary.outcomes.contains(Outcome::ok)) continue;
    const Operator& op = *sweep.plan->problems.front().problem.op;
    if (op.sources->is_embedded) return "";
    return fmt::format("next: mgtune header {} -o {}_ops.h\n", shell_word(kernel), op.family);
  }
  return "";
}

std::int64_t failed_variants(const SweepSummary& summary) {
  std::int64_t failed = 0;
  for (const auto& [outcome, count] : summary.outcomes) {
    if (is_failure(outcome)) failed += count;
  }
  return failed;
}

}  // namespace mgtune
