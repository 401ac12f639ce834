#include <iostream>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/stored_results.h"
#include "html/html_report.h"
#include "model/units.h"

namespace mgtune {
namespace {

class ReportCommand final : public Command {
 public:
  std::string_view name() const override { return "report"; }
  std::string_view summary() const override { return "Write everything found as one HTML page"; }
  std::string_view details() const override {
    return "The page needs no network and no script.\n"
           "Example: mgtune report -o report.html";
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("-o,--output", output_, "FILE", "Where to write it (default: report.html)");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    ReportModel model = make_report_model({});
    if (store.has_value()) {
      MGTUNE_ASSIGN(model, read_report_model(*store));
    }
    MGTUNE_ASSIGN(const std::string html, render_html(model));
    MGTUNE_TRY(write_output(output_, "the report", html));
    std::cout << "wrote " << output_ << '\n';
    if (model.sweeps.empty()) {
      std::cerr << "There are no results in it yet; this fills it: " << kSweepCommand << '\n';
    }
    return ExitCode::ok;
  }

 private:
  std::string output_ = "report.html", database_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace mgtune
