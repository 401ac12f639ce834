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
    return "OUT keeps its results, or is created; the other files are only read. Merging twice\n"
           "changes nothing. Results of one GPU with different drivers, compilers or versions of\n"
           "mgtune stay apart. If two files have a pick of the same problem, the pick of the\n"
           "later sweep is used.\n"
           "Example: mgtune merge results.db results.shard-*.db";
  }
  void declare(ArgumentList& arguments) override {
    arguments.words("FILES", files_, "OUT IN...: the database to write, and those to read");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    if (files_.size() < 2) return invalid_argument("merge: expected OUT and at least one IN");
    const std::string& to = files_.front();
    std::vector<Store> sources;
    for (std::size_t i = 1; i < files_.size(); ++i) {
      std::error_code missing;
      if (files_[i] == to || std::filesystem::equivalent(files_[i], to, missing)) {
        return invalid_argument("merge: " + files_[i] + " is the output, so it cannot be an input");
      }
      MGTUNE_ASSIGN(Store source, open_named_results(files_[i]));
      sources.push_back(std::move(source));
    }
    MGTUNE_TRY(check_folder(to));
    MGTUNE_ASSIGN(Store store, Store::open(to, Store::Mode::read_write));
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
                         {"picks", counts.picks}})
                       .document_text();
      return;
    }
    std::cout << "merged " << counted(static_cast<std::int64_t>(files), "file") << " into "
              << files_.front() << ": added " << counted(counts.sweeps, "sweep") << ", "
              << counted(counts.outcomes, "variant") << " and " << counted(counts.picks, "pick")
              << '\n';
  }

  std::vector<std::string> files_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_merge_command() { return std::make_unique<MergeCommand>(); }

}  // namespace mgtune
