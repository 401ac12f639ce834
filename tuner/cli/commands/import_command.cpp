#include <iostream>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/stored_results.h"
#include "system/file_system.h"
#include "exchange/read_results.h"
#include "family/catalog.h"
#include "text/printable.h"
#include "text/units.h"

namespace mgtune {
namespace {

class ImportCommand final : public Command {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override { return "Take in results that were exported"; }
  std::string_view details() const override {
    return "FILE is what 'mgtune export' wrote as tuned, kernel-tuner or t4, gzipped or not. "
           "Picks\n"
           "serve programs as if they had been tuned here; recorded variants are for reading, "
           "and\n"
           "no sweep takes them for its own. What was measured here stays. Operators, designs or\n"
           "values that are not offered here are refused, and then nothing is imported.\n"
           "Example: mgtune import results/h200/rmsnorm.forward.tuned.json";
  }
  void declare(ArgumentList& arguments) override {
    arguments.words("FILE", files_, "What to import, one or more");
    arguments.values("--kernel", kernels_, "FOLDER",
                     "A family of your own; may stand several times");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
  }
  Result<ExitCode> run(const Invocation& invocation) override {
    if (files_.empty()) {
      return invalid_argument("FILE is required\nSee 'mgtune import --help'.");
    }
    Catalog catalog(FileSystem::real());
    for (const std::string& kernel : kernels_) MGTUNE_TRY(catalog.find(kernel).status());
    const Result<std::vector<ImportedSweep>> sweeps =
        read_results(FileSystem::real(), files_, catalog, invocation.command_line);
    if (!sweeps.ok()) {  // which quotes a stranger's file
      return Status(sweeps.status().code(), printable(sweeps.status().message()));
    }
    MGTUNE_ASSIGN(const std::string path, database_path(database_));
    MGTUNE_ASSIGN(Store store, Store::open(path, Store::Mode::read_write));
    MGTUNE_ASSIGN(const ImportCounts counts, store.import_results(*sweeps));
    std::cout << "imported " << counted(counts.picks, "pick") << " and "
              << counted(counts.outcomes, "variant") << " into " << path << '\n';
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
