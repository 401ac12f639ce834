#include <iostream>

#include "cli/command.h"
#include "exchange/read_document.h"
#include "family/catalog.h"
#include "results/stored_results.h"
#include "system/file_system.h"
#include "text/printable.h"
#include "text/units.h"

namespace mgtune {
namespace {

class ImportCommand final : public Command {
 public:
  std::string details() const override {
    return "FILE is a file that 'mgtune export' wrote in the format tuned, kernel-tuner or t4,\n"
           "gzipped or not. Programs use imported picks as if they had been tuned here. Recorded\n"
           "variants can be read, but sweeps do not use them. Results that were measured here\n"
           "are kept. If a file has an operator, a design or a value that does not exist here,\n"
           "nothing is imported.\n"
           "Example: mgtune import results/h200/nvidia-h200.rmsnorm.forward.tuned.json";
  }
  void declare(ArgumentList& arguments) override {
    arguments.words("FILE", files_, "One or more files to import");
    arguments.values("--kernel", kernels_, "FOLDER",
                     "The folder of a family of your own; may be repeated");
    arguments.database(database_);
  }
  Result<ExitCode> run(const Invocation& invocation) override {
    if (files_.empty()) {
      return invalid_argument("FILE is required\nSee 'mgtune import --help'.");
    }
    Catalog catalog(FileSystem::real());
    for (const std::string& kernel : kernels_) MGTUNE_TRY(catalog.find(kernel).status());
    const Result<std::vector<ImportedSweep>> sweeps =
        read_results(FileSystem::real(), files_, catalog, invocation.command_line);
    if (!sweeps.ok()) {  // the message quotes a file of unknown origin
      return Status(sweeps.status().code(), printable(sweeps.status().message()));
    }
    MGTUNE_ASSIGN(Store store, open_results_to_write(database_));
    MGTUNE_ASSIGN(const ImportCounts counts, store.import_results(*sweeps));
    std::cout << "imported " << counted(counts.picks, "pick") << " and "
              << counted(counts.outcomes, "variant") << " into " << store.path() << '\n';
    if (counts.known > 0) {
      std::cout << "known already: " << counted(counts.known, "row") << '\n';
    }
    if (counts.picks_kept + counts.outcomes_kept > 0) {
      std::cout << "measured here, and kept: " << counted(counts.picks_kept, "pick") << " and "
                << counted(counts.outcomes_kept, "variant") << '\n';
    }
    return ExitCode::ok;
  }

 private:
  std::vector<std::string> files_, kernels_;
  std::string database_;
};

}  // namespace

std::unique_ptr<Command> make_import_command() { return std::make_unique<ImportCommand>(); }

}  // namespace mgtune
