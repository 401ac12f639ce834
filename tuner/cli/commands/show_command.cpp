#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/command.h"
#include "cli/found_results.h"
#include "cli/output/progress.h"
#include "text/failures.h"
#include "text/printable.h"
#include "text/tables.h"

namespace mgtune {
namespace {

struct View {
  std::string_view name;
  std::string_view meaning;
  std::string (*table)(const ReportModel&);
  std::string (*json)(const ReportModel&);
};

constexpr View kViews[] = {
    {"best", "the pick of every problem beside its default", picks_table, picks_json},
    {"variants", "every variant with its outcome and time", variants_table, variants_json},
    {"failures", "the variants that failed, and why", failures_text, failures_json},
    {"finals", "the final of each problem: ratios, ties, noise, clocks", finals_table, finals_json},
    {"limits", "what limits each pick, and how close it is to the GPU's limits", limits_table,
     limits_json},
    {"summary", "the results in sentences, and which are missing", summary_table, summary_json},
    {"importance", "which parameters the time depends on, and the effect of each value",
     importance_table, importance_json},
    {"progress", "the best time so far, against evaluations and time", progress_table,
     progress_json},
    {"sizes", "picks against problem size, and where the pick changes", sizes_table, sizes_json},
    {"counters", "hardware counters, and the bottleneck that they show", counters_table,
     counters_json},
    {"environment", "machines, and the commands that repeat the sweeps", environment_table,
     environment_json},
};

class ShowCommand final : public Command {
 public:
  std::string details() const override {
    std::string lines;
    for (const View& view : kViews) lines += fmt::format("{:<12} {}\n", view.name, view.meaning);
    return lines + "Example: mgtune show best --kernel rmsnorm";
  }
  void declare(ArgumentList& arguments) override {
    std::vector<std::string> names;
    for (const View& view : kViews) names.emplace_back(view.name);
    arguments.word("WHAT", what_, names, "best, variants, ...: the list is below");
    arguments.kernel_and_gpu(filter_);
    arguments.database(database_);
    arguments.flag("--full", full_,
                   "failures: the whole message of each cause, for example all compiler output");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    if (full_ && what_ != "failures") {
      return invalid_argument("--full goes with 'mgtune show failures'");
    }
    MGTUNE_ASSIGN(const FoundResults found, find_results(database_, filter_));
    print_notes(found);
    if (!found.nothing.empty() && !json_) {
      std::cout << found.nothing << '\n';
      return ExitCode::ok;
    }
    for (const View& view : kViews) {
      if (what_ != view.name) continue;
      if (full_ && !json_) {
        std::cout << failures_in_full(found.model);
        continue;
      }
      const std::string text = json_ ? view.json(found.model) : view.table(found.model);
      // If the output is no terminal, it gets whole lines.
      const std::size_t columns = json_ ? 0 : terminal_columns(STDOUT_FILENO, 0);
      std::cout << (columns > 0 ? folded(text, columns) : text);
    }
    return ExitCode::ok;
  }

 private:
  std::string what_, database_;
  ResultFilter filter_;
  bool full_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace mgtune
