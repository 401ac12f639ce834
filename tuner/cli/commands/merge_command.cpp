#include <filesystem>
#include <iostream>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "json/json.h"
#include "results/stored_results.h"
#include "store/store.h"
#include "text/units.h"

namespace mgtune {
namespace {

class MergeCommand final : public Command {
 public:
  std::string details() const override {
    return "OUT keeps its results, or is created; the other files are only read, one at a time.\n"
           "Merging twice changes nothing. Results of one GPU with different drivers, compilers "
           "or\n"
           "versions of mgtune stay apart. If two files have a pick of the same problem, the pick\n"
           "of the later sweep is used, and of two shards' the faster one, until\n"
           "'mgtune sweep --finals' has timed them side by side.\n"
           "Example: mgtune merge results.db results.shard-*.db";
  }
  void declare(ArgumentList& arguments) override {
    arguments.words("FILES", files_, "OUT IN...: the database to write, and those to read");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    if (files_.size() < 2) return invalid_argument("merge: expected OUT and at least one IN");
    const std::string& to = files_.front();
    for (std::size_t i = 1; i < files_.size(); ++i) {
      std::error_code missing;
      if (files_[i] == to || std::filesystem::equivalent(files_[i], to, missing)) {
        return invalid_argument("merge: " + files_[i] + " is the output, so it cannot be an input");
      }
      // Check all files before OUT is made, so that a missing or damaged file is reported first.
      MGTUNE_TRY(open_named_results(files_[i]).status());
    }
    MGTUNE_TRY(check_folder(to));
    MGTUNE_ASSIGN(Store store, Store::open(to, Store::Mode::read_write));
    const std::vector<std::string> sources(files_.begin() + 1, files_.end());
    MGTUNE_ASSIGN(const MergeCounts counts, store.merge(sources));
    print(counts, sources.size());
    return ExitCode::ok;
  }

 private:
  void print(const MergeCounts& counts, std::size_t files) const {
    if (json_) {
      std::cout << Json({{"format", 1},
                         {"database", files_.front()},
                         {"files", files},
                         {"sweeps", counts.sweeps},
                         {"outcomes", counts.outcomes},
                         {"picks", counts.picks},
                         {"undecided", counts.undecided}})
                       .document_text();
      return;
    }
    std::cout << "merged " << counted(static_cast<std::int64_t>(files), "file") << " into "
              << files_.front() << ": added " << counted(counts.sweeps, "sweep") << ", "
              << counted(counts.outcomes, "variant") << " and " << counted(counts.picks, "pick")
              << '\n';
    if (counts.undecided == 0) return;
    std::cout << "the shards have different picks of " << counted(counts.undecided, "problem")
              << ": the fastest by single measurements are kept; the command of the sweep with "
                 "--finals --db "
              << files_.front() << " instead of --shard times them side by side\n";
  }

  std::vector<std::string> files_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_merge_command() { return std::make_unique<MergeCommand>(); }

}  // namespace mgtune
