#include <fmt/format.h>

#include <iostream>

#include "cli/command.h"
#include "fit/fit.h"
#include "json/json.h"
#include "results/stored_results.h"
#include "source/rule_files.h"
#include "system/file_system.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

std::string loss_share_text(double loss) { return fmt::format("{:.1f} %", 100 * loss); }

std::string losses_text(const FittedRules& rules) {
  TextTable table({{"slower than the best variant"},
                   {"problems", TextTable::Align::right},
                   {"median", TextTable::Align::right},
                   {"95 % below", TextTable::Align::right},
                   {"worst", TextTable::Align::right}});
  const auto add = [&](const char* name, const LossSummary& loss) {
    if (loss.problems == 0) return;
    table.add_row({name, std::to_string(loss.problems), loss_share_text(loss.median),
                   loss_share_text(loss.percentile_95), loss_share_text(loss.worst)});
  };
  add("the rules, at the problems they are fitted to", rules.fitted);
  add("the best of these variants at each problem", rules.attainable);
  add("at each problem, fitted without it", rules.left_out_problem);
  add("at each problem, fitted without its band of a dim", rules.left_out_band);
  add("the default ladder", rules.ladder);
  if (rules.held_out) {
    add("the rules, at problems held out", rules.held_out->rules);
    add("the default ladder there", rules.held_out->ladder);
  }
  return table.text();
}

class FitCommand final : public Command {
 public:
  std::string details() const override {
    return "The rules say which of a few variants to try for any problem, also for one that "
           "nobody\n"
           "tuned. They are a small decision tree; its size is chosen by cross-validation. How "
           "fast\n"
           "a variant is where it was not measured is estimated from the measurements of others.\n"
           "Programs read them from the folder 'rules' beside the database, where they are "
           "written\n"
           "unless -o is given. If FOLDER exists or ends in /, the file's name is that of the\n"
           "operator. The same results give the same bytes.\n"
           "With --held-out, FILE has problems that were swept too, with another seed. Those that\n"
           "are also in --db are left out.\n"
           "Examples:\n"
           "  mgtune fit rmsnorm.forward --gpu H200\n"
           "  mgtune fit rmsnorm.forward --db h200.db -o results/h200/ --commit 1a2b3c4\n"
           "  mgtune fit rmsnorm.forward --db h200.db --held-out others.db --dry-run";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required_kernel(request_.kernel, "NAME|DIR",
                              "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.value("--gpu", request_.gpu, "MODEL", "The GPU, if there are results of several");
    arguments.value("--commit", request_.commit, "WORD",
                    "The commit of the kernels that were measured, to be written in the file");
    arguments.value("--held-out", request_.held_out, "FILE",
                    "Database with problems that the rules are not fitted to: say how much slower "
                    "the rules are there");
    arguments.value("-o,--output", output_, "FILE|FOLDER", "Where to write the rules");
    arguments.flag("--dry-run", dry_run_, "Say how good the rules are, and write nothing");
    arguments.database(request_.database);
  }
  Result<ExitCode> run(const Invocation& invocation) override {
    request_.command = invocation.command_line;
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const FittedRules rules, fit_rules(request_, catalog));
    std::cerr << fmt::format("{} on {}: {} and {} from {} of {} at {}\n", rules.op, rules.gpu_word,
                             counted(rules.variants, "variant"), counted(rules.leaves, "rule"),
                             counted(rules.measurements, "time"),
                             counted(rules.candidates, "candidate"),
                             counted(rules.problems, "problem"));
    std::cout << losses_text(rules);
    if (rules.left_out_problem.percentile_95 > rules.ladder.percentile_95) {
      std::cerr << "the default ladder does better at problems that were not measured: sweep more "
                   "problems before you use these rules\n";
    }
    note_estimates(rules.ladder_estimated, "", "of the default ladder");
    if (rules.held_out) {
      note_estimates(rules.held_out->estimated, " held out", "by the rules");
      note_estimates(rules.held_out->ladder_estimated, " held out", "of the default ladder");
    }
    if (dry_run_) return ExitCode::ok;
    MGTUNE_ASSIGN(const std::string path, output_path(rules));
    MGTUNE_TRY(write_output(path, "the rules", rules.document));
    std::cerr << "wrote " << path << '\n';
    return ExitCode::ok;
  }

 private:
  static void note_estimates(std::size_t problems, const char* which, const char* whose) {
    if (problems == 0) return;
    std::cerr << fmt::format(
        "{}{}: the variant {} has no time there, so its loss is estimated; sweep {} again "
        "with --for-rules\n",
        counted(problems, "problem"), which, whose, problems == 1 ? "it" : "them");
  }

  Result<std::string> output_path(const FittedRules& rules) const {
    const std::string name = rules_file_name(rules.op);
    std::string folder = output_;
    if (output_.empty()) {
      MGTUNE_ASSIGN(const std::string database, database_path(request_.database));
      folder = rules_folder_of(database) + "/" + rules.gpu_word;
    } else if (!output_.ends_with('/') && !FileSystem::real().is_directory(output_)) {
      return output_;
    }
    MGTUNE_TRY(FileSystem::real().create_directories(folder, 0777));
    return folder + (folder.ends_with('/') ? "" : "/") + name;
  }

  FitRequest request_;
  std::string output_;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_fit_command() { return std::make_unique<FitCommand>(); }

}  // namespace mgtune
