#include <filesystem>
#include <iostream>
#include <map>

#include "cli/command.h"
#include "exchange/bundle.h"
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
           "or with --bundle, gzipped or not. The parts of a bundle are verified first, and what\n"
           "was taken is named; its rules go into the folder 'rules' beside the database, where\n"
           "rules that are there already stay. Programs use imported picks as if they had been "
           "tuned here. Recorded\n"
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
    const Result<std::vector<BundlePart>> rules = bundled_rules(FileSystem::real(), files_);
    if (!rules.ok()) {
      return Status(rules.status().code(), printable(rules.status().message()));
    }
    MGTUNE_ASSIGN(Store store, open_results_to_write(database_));
    MGTUNE_ASSIGN(const ImportCounts counts, store.import_results(*sweeps));
    std::cout << "imported " << counted(counts.picks, "pick") << " and "
              << counted(counts.outcomes, "variant") << " into " << store.path() << '\n';
    print_taken(*sweeps);
    MGTUNE_TRY(take_rules(*rules, store.path()));
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
  // "  rmsnorm.forward on NVIDIA H200: 24 picks (mgtune 0.1.0, driver 580.159.04)"
  static void print_taken(const std::vector<ImportedSweep>& sweeps) {
    std::map<std::string, std::size_t> picks;
    for (const ImportedSweep& sweep : sweeps) {
      for (const TunedView& pick : sweep.picks) {
        const EnvironmentRecord& by = sweep.environment;
        ++picks[pick.op + " on " + sweep.gpu.model + " (mgtune " + by.mgtune_version +
                (by.driver.empty() ? "" : ", driver " + by.driver) + ")"];
      }
    }
    for (const auto& [what, count] : picks) {
      std::cout << "  " << printable(what) << ": " << counted(count, "pick") << '\n';
    }
  }

  static Status take_rules(const std::vector<BundlePart>& rules, const std::string& database) {
    const std::filesystem::path folder = std::filesystem::path(database).parent_path();
    FileSystem& files = FileSystem::real();
    for (const BundlePart& part : rules) {
      const std::filesystem::path path = folder / part.name;
      if (files.exists(path.string())) {
        MGTUNE_ASSIGN(const std::string present, files.read_file(path.string()));
        std::cout << "  " << part.name
                  << (present == part.text ? ": known already\n" : ": yours is kept\n");
        continue;
      }
      MGTUNE_TRY(files.create_directories(path.parent_path().string(), 0777));
      MGTUNE_TRY(files.write_file(path.string(), part.text));
      std::cout << "  " << part.name << ": taken\n";
    }
    return {};
  }

  std::vector<std::string> files_, kernels_;
  std::string database_;
};

}  // namespace

std::unique_ptr<Command> make_import_command() { return std::make_unique<ImportCommand>(); }

}  // namespace mgtune
