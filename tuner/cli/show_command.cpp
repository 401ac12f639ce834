#include <iostream>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/stored_results.h"
#include "core/file_system.h"
#include "core/suggest.h"
#include "family/catalog.h"
#include "model/tables.h"

namespace mgtune {
namespace {

struct View {
  const char* name;
  std::string (*table)(const ReportModel&);
  std::string (*json)(const ReportModel&);
};

constexpr View kViews[] = {
    {"best", picks_table, picks_json},           {"variants", variants_table, variants_json},
    {"failures", failures_table, failures_json}, {"finals", finals_table, finals_json},
    {"limits", limits_table, limits_json},
};

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
           "Example: mgtune show best --kernel rmsnorm";
  }
  void declare(ArgumentList& arguments) override {
    std::vector<std::string> names;
    for (const View& view : kViews) names.emplace_back(view.name);
    arguments.word("WHAT", what_, names, "best, variants, failures, finals or limits");
    arguments.value("--kernel", kernel_, "NAME", "Only this family or operator");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
    arguments.flag("--json", json_, "Print JSON");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    ReportModel model = make_report_model({});
    if (store.has_value()) {
      MGTUNE_ASSIGN(model, read_results(*store, kernel_));
    }
    const bool nothing = model.variants.empty() && model.picks.empty();
    if (nothing && store.has_value() && !kernel_.empty()) {
      MGTUNE_ASSIGN(const std::vector<std::string> others, recorded_operators(*store));
      MGTUNE_TRY(check_spelling(others));
      if (!others.empty() && !json_) {
        std::cout << no_results_text(others);
        return ExitCode::ok;
      }
    }
    for (const View& view : kViews) {
      if (what_ == view.name) std::cout << (json_ ? view.json(model) : view.table(model));
    }
    return ExitCode::ok;
  }

 private:
  // invalid_argument where --kernel is no kernel's name and looks like one that has results.
  Status check_spelling(const std::vector<std::string>& recorded) const {
    if (Catalog(FileSystem::real()).find(kernel_).ok()) return {};
    std::vector<std::string> names = recorded;
    for (const std::string& name : recorded) names.push_back(name.substr(0, name.find('.')));
    const std::string suggestion = did_you_mean(kernel_, names);
    if (suggestion.empty()) return {};
    return invalid_argument("no results of '" + kernel_ + "' in this store" + suggestion);
  }

  // Where --kernel names what has no results though others have.
  std::string no_results_text(const std::vector<std::string>& others) const {
    std::string text = "No results of '" + kernel_ + "' in this store; it has those of ";
    for (const std::string& name : others) text += (name == others.front() ? "" : ", ") + name;
    return text + ". More: mgtune sweep --kernel " + kernel_ + "\n";
  }

  std::string what_, kernel_, database_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace mgtune
