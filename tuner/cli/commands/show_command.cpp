#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/command.h"
#include "cli/found_results.h"
#include "cli/output/rules_table.h"
#include "cli/output/terminal.h"
#include "fit/stored_rules.h"
#include "system/file_system.h"
#include "text/failures.h"
#include "text/printable.h"
#include "text/tables.h"

namespace mgtune {
namespace {

struct View {
  std::string_view name;
  std::string_view meaning;
  std::string (*table)(const ReportModel&, std::size_t columns);
  std::string (*json)(const ReportModel&);
};

// Adapts a table whose text does not depend on the width of the terminal.
template <std::string (*kTable)(const ReportModel&)>
std::string of_any_width(const ReportModel& model, std::size_t /*columns*/) {
  return kTable(model);
}

constexpr View kViews[] = {
    {"best", "the pick of every problem beside its default", picks_table, picks_json},
    {"variants", "every variant with its outcome and time", variants_table, variants_json},
    {"failures", "the variants that failed, and why", of_any_width<failures_text>, failures_json},
    {"finals", "the final of each problem: ratios, ties, noise, clocks", of_any_width<finals_table>,
     finals_json},
    {"limits", "what limits each pick, and how close it is to the GPU's limits",
     of_any_width<limits_table>, limits_json},
    {"summary", "the results in sentences, and which are missing", of_any_width<summary_table>,
     summary_json},
    {"importance", "which parameters the time depends on, and the effect of each value",
     of_any_width<importance_table>, importance_json},
    {"progress", "the best time so far, against evaluations and time", of_any_width<progress_table>,
     progress_json},
    {"sizes", "picks against problem size, and where the pick changes", of_any_width<sizes_table>,
     sizes_json},
    {"counters", "hardware counters, and the bottleneck that they show",
     of_any_width<counters_table>, counters_json},
    {"environment", "machines, and the commands that repeat the sweeps",
     of_any_width<environment_table>, environment_json},
};

// Rules are files, not rows of a database.
constexpr std::string_view kRulesView = "rules";

class ShowCommand final : public Command {
 public:
  std::string details() const override {
    std::string lines;
    for (const View& view : kViews) lines += fmt::format("{:<12} {}\n", view.name, view.meaning);
    lines += fmt::format("{:<12} {}\n", kRulesView,
                         "which variant serves problems that nobody tuned ('mgtune fit')");
    return lines + "Example: mgtune show best rmsnorm";
  }
  void declare(ArgumentList& arguments) override {
    std::vector<std::string> names;
    for (const View& view : kViews) names.emplace_back(view.name);
    names.emplace_back(kRulesView);
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
    if (what_ == kRulesView) return show_rules();
    MGTUNE_ASSIGN(const FoundResults found, find_results(database_, filter_));
    print_notes(found);
    if (!found.nothing.empty()) return not_found(found.nothing);
    for (const View& view : kViews) {
      if (what_ != view.name) continue;
      if (json_) {
        std::cout << view.json(found.model);
      } else if (full_) {
        std::cout << failures_in_full(found.model);
      } else {
        print_text(view.table(found.model, terminal_columns(STDOUT_FILENO, 0)));
      }
    }
    return ExitCode::ok;
  }

 private:
  Result<ExitCode> show_rules() const {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const StoredRules found, stored_rules(database_, filter_, catalog));
    for (const std::string& note : found.notes) std::cerr << "mgtune: " << printable(note) << '\n';
    if (json_) {
      std::cout << rules_json(found.rules);
    } else {
      print_text(rules_table(found.rules));
    }
    return ExitCode::ok;
  }

  std::string what_, database_;
  ResultFilter filter_;
  bool full_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace mgtune
