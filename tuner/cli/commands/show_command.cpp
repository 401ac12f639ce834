#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/stored_results.h"
#include "analysis/analysis_tables.h"
#include "model/folded.h"
#include "text/tables.h"

namespace mgtune {
namespace {

struct View {
  const char* name;
  std::string (*table)(const ReportModel&);
  std::string (*json)(const ReportModel&);
};

constexpr View kViews[] = {
    {"best", picks_table, picks_json},
    {"variants", variants_table, variants_json},
    {"failures", failures_table, failures_json},
    {"finals", finals_table, finals_json},
    {"limits", limits_table, limits_json},
    {"summary", summary_table, summary_json},
    {"importance", importance_table, importance_json},
    {"progress", progress_table, progress_json},
    {"sizes", sizes_table, sizes_json},
    {"counters", counters_table, counters_json},
    {"environment", environment_table, environment_json},
};

// Of the terminal that is written to; 0: none, so that pipes get whole lines.
std::size_t terminal_columns() {
  winsize size = {};
  const bool known = isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

class ShowCommand final : public Command {
 public:
  std::string_view name() const override { return "show"; }
  std::string_view summary() const override { return "Print what sweeps have found"; }
  std::string_view details() const override {
    return "best       the pick of every problem beside its default\n"
           "variants   every variant with its status and time\n"
           "failures   those that failed, and why\n"
           "finals     the fastest of each problem timed in turn: ratios, ties, noise, clocks\n"
           "limits     what limits each pick, and how near it comes to what the GPU can do\n"
           "summary    the verdict in sentences, and what would complete it\n"
           "importance which parameters the time hangs on, and what each value does\n"
           "progress   the best so far against evaluations and time\n"
           "sizes      picks against problem size, and where one takes over from another\n"
           "counters   what the hardware counted, and the bottleneck that it shows\n"
           "environment  machines, and the commands that repeat the sweeps\n"
           "Example: mgtune show best --kernel rmsnorm";
  }
  void declare(ArgumentList& arguments) override {
    std::vector<std::string> names;
    for (const View& view : kViews) names.emplace_back(view.name);
    arguments.word("WHAT", what_, names,
                   "best, variants, failures, finals, limits, summary, importance, progress, "
                   "sizes, counters or environment");
    arguments.value("--kernel", filter_.kernel, "NAME", "Only this family or operator");
    arguments.value("--gpu", filter_.gpu, "NAME", "Only this GPU: L4, \"NVIDIA H200\", cpu");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
    arguments.flag("--json", json_, "Print JSON");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    MGTUNE_ASSIGN(const FoundResults found, find_results(store, filter_));
    if (!found.nothing.empty() && !json_) {
      std::cout << found.nothing << '\n';
      return ExitCode::ok;
    }
    for (const View& view : kViews) {
      if (what_ != view.name) continue;
      const std::string text = json_ ? view.json(found.model) : view.table(found.model);
      const std::size_t columns = json_ ? 0 : terminal_columns();
      std::cout << (columns > 0 ? folded(text, columns) : text);
    }
    return ExitCode::ok;
  }

 private:
  std::string what_, database_;
  ResultFilter filter_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace mgtune
