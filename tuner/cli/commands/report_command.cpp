#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/found_results.h"
#include "document/markdown.h"
#include "document/report_document.h"
#include "html/report_page.h"
#include "model/missing_parts.h"
#include "results/stored_results.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

class ReportCommand final : public Command {
 public:
  std::string details() const override {
    return "The page opens from disk and needs no network. Its tables need no JavaScript.\n"
           "html  the page\n"
           "md    tables for a pull request or a wiki\n"
           "json  the data of the page\n"
           "csv   one row per pick\n"
           "md, json and csv go to standard output unless -o names a file.\n"
           "Examples:\n"
           "  mgtune report -o report.html\n"
           "  mgtune report rmsnorm --gpu H200 --baseline before.db\n"
           "  mgtune report --format json | jq .verdict";
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("-o,--output", output_, "FILE", "The file to write (default: report.html)");
    arguments.choice("--format", format_, {"html", "md", "csv", "json"}, "NAME",
                     "html (default), md, csv or json");
    arguments.kernel_and_gpu(filter_);
    arguments.value("--baseline", baseline_, "FILE",
                    "Compare the picks with those of another database");
    arguments.database(database_);
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(const FoundResults found, find_results(database_, filter_));
    print_notes(found);
    if (!found.nothing.empty()) return not_found(found.nothing);
    const ReportModel& model = found.model;
    MGTUNE_ASSIGN(const std::vector<std::optional<BaselinePick>> baseline, read_baseline(model));
    DocumentOptions options;
    options.baseline = baseline;
    options.with_baseline = !baseline_.empty();
    options.database = database_;
    MGTUNE_ASSIGN(const std::string content, render(model, options));
    MGTUNE_TRY(write(content));
    if (model.problems.empty()) {
      std::cerr << "The report has no results yet. This command makes some: "
                << sweep_command(model) << '\n';
    }
    return ExitCode::ok;
  }

 private:
  Result<std::vector<std::optional<BaselinePick>>> read_baseline(const ReportModel& model) const {
    if (baseline_.empty()) return std::vector<std::optional<BaselinePick>>();
    MGTUNE_ASSIGN(Store store, open_named_results(baseline_));
    MGTUNE_ASSIGN(const ReportModel old, read_report_model(store));
    std::vector<std::optional<BaselinePick>> picks = against_baseline(model, old);
    const bool any = std::ranges::any_of(picks, [](const auto& pick) { return pick.has_value(); });
    if (!any) {
      std::cerr << "mgtune: warning: " << baseline_
                << " has no pick for any of these problems, on the same GPU by the same method\n";
    }
    return picks;
  }

  Result<std::string> render(const ReportModel& model, const DocumentOptions& options) const {
    if (format_ == "csv") return picks_csv(model, options);
    const ReportAnalysis analysis = analyze(model);
    if (format_ == "md") return report_markdown(model, analysis, options);
    const std::string document = report_document(model, analysis, options);
    return format_ == "json" ? document + '\n' : render_page(model, document);
  }

  Status write(const std::string& content) const {
    if (output_.empty() && format_ != "html") {
      std::cout << content;
      return {};
    }
    const std::string path = output_.empty() ? "report.html" : output_;
    MGTUNE_TRY(write_output(path, "the report", content));
    std::cerr << "wrote " << path << '\n';
    return {};
  }

  std::string output_, database_, baseline_, format_ = "html";
  ResultFilter filter_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace mgtune
